#include "model/attention/masks/polynomial_product.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "model/attention/kernels/sparse_rows.h"

namespace interlacer::attention {
namespace {

constexpr std::int64_t kColumns = kPolynomialColumns;

/// The matrix (2 / rho) S - 1.
struct Scaled {
  const SparsePattern& pattern;
  std::vector<double> values, diagonal;
};

/// Columns [first, first + count) of one head, from the last term to the first: by Horner's rule
/// for powers and by Clenshaw's, b_k = c_k x + 2 M b_k+1 - b_k+2, for Chebyshev polynomials.
/// Neither keeps a sum beside the terms.
void OneTile(PolynomialBasis basis, const Scaled& matrix, const double* c, std::int64_t term_count,
             const double* x, std::int64_t width, std::int64_t first, std::int64_t count,
             double* out) {
  const bool is_chebyshev = basis == PolynomialBasis::kChebyshev;
  const std::int64_t rows = matrix.pattern.rows;
  const auto size = static_cast<std::size_t>(rows * kColumns);
  std::vector<double> own(size, 0), now(size), next(size), before(is_chebyshev ? size : 0, 0);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(x + i * width + first, count, own.begin() + i * kColumns);
  }
  for (std::size_t i = 0; i < size; ++i) now[i] = c[term_count - 1] * own[i];
  const auto add_term = INTERLACER_FORM_OF_HOST(AddPolynomialTerm);
  const SparseRows entries{matrix.pattern.offsets.data(), matrix.pattern.indices.data()};
  for (std::int64_t k = term_count - 2; k >= 0; --k) {
    // T_1 is the matrix itself.
    add_term(entries, matrix.values.data(), matrix.diagonal.data(), rows,
             is_chebyshev && k > 0 ? 2 : 1, c[k], own.data(), now.data(),
             is_chebyshev ? before.data() : nullptr, next.data());
    if (is_chebyshev) std::swap(before, now);
    std::swap(now, next);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(now.begin() + i * kColumns, count, out + i * width + first);
  }
}

Scaled Scale(const SparsePattern& pattern, const torch::Tensor& values,
             const torch::Tensor& diagonal, double rho) {
  Scaled matrix{pattern, {}, {}};
  const double* value = values.const_data_ptr<double>();
  const double* own = diagonal.const_data_ptr<double>();
  for (std::int64_t e = 0; e < pattern.entry_count(); ++e) {
    matrix.values.push_back(2 / rho * value[e]);
  }
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    // Exactly 0 for rho / 2.
    matrix.diagonal.push_back((own[i] - rho / 2) * (2 / rho));
  }
  return matrix;
}

}  // namespace

torch::Tensor PolynomialProduct(PolynomialBasis basis, const SparsePattern& pattern,
                                const torch::Tensor& values, const torch::Tensor& diagonal,
                                double rho, const torch::Tensor& coefficients,
                                const torch::Tensor& x_in) {
  const torch::Tensor x = x_in.contiguous(), c = coefficients.contiguous();
  INTERLACER_CHECK(x.scalar_type() == at::kDouble && x.dim() == 3 && x.size(1) == pattern.rows &&
                       pattern.rows == pattern.columns && values.numel() == pattern.entry_count() &&
                       diagonal.numel() == pattern.rows && c.dim() == 2 && c.size(0) == x.size(0) &&
                       c.size(1) > 0,
                   "operands of a polynomial product");
  torch::Tensor out = at::empty_like(x);
  const std::int64_t width = x.size(2), rows = x.size(1), term_count = c.size(1);
  const std::int64_t tile_count = (width + kColumns - 1) / kColumns;
  const Scaled matrix = Scale(pattern, values.contiguous(), diagonal.contiguous(), rho);
  const double* source = x.const_data_ptr<double>();
  double* target = out.mutable_data_ptr<double>();
  ParallelFor(x.size(0) * tile_count, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t tile = begin; tile < end; ++tile) {
      const std::int64_t head = tile / tile_count, first = tile % tile_count * kColumns;
      OneTile(basis, matrix, c.const_data_ptr<double>() + head * term_count, term_count,
              source + head * rows * width, width, first, std::min(kColumns, width - first),
              target + head * rows * width);
    }
  });
  return out;
}

}  // namespace interlacer::attention
