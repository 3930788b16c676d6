#include "model/attention/masks/polynomial_product.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/thread_pool.h"

namespace interlacer::attention {
namespace {

/// Two registers of AVX-512.
constexpr std::int64_t kColumns = 16;

/// The matrix (2 / rho) S - 1.
struct Scaled {
  const SparsePattern& pattern;
  std::vector<double> values, diagonal;
};

/// Bound by the cache: every term reads a row's neighbours and four rows of its own.
/// next = factor * (matrix now) - before, and sum += c * next.
void AddTerm(const Scaled& matrix, double factor, double c, const double* now, const double* before,
             double* next, double* sum) {
  const std::int64_t* offsets = matrix.pattern.offsets.data();
  const std::int64_t* indices = matrix.pattern.indices.data();
  for (std::int64_t i = 0; i < matrix.pattern.rows; ++i) {
    double total[kColumns];
    for (std::int64_t c_ = 0; c_ < kColumns; ++c_) {
      total[c_] = matrix.diagonal[i] * now[i * kColumns + c_];
    }
    for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      const double value = matrix.values[e];
      const double* other = now + indices[e] * kColumns;
      for (std::int64_t c_ = 0; c_ < kColumns; ++c_) total[c_] += value * other[c_];
    }
    for (std::int64_t c_ = 0; c_ < kColumns; ++c_) {
      const std::int64_t at = i * kColumns + c_;
      next[at] = factor * total[c_] - before[at];
      sum[at] += c * next[at];
    }
  }
}

/// Columns [first, first + count) of one head.
void OneTile(PolynomialBasis basis, const Scaled& matrix, const double* c, std::int64_t term_count,
             const double* x, std::int64_t width, std::int64_t first, std::int64_t count,
             double* out) {
  const std::int64_t rows = matrix.pattern.rows;
  const auto size = static_cast<std::size_t>(rows * kColumns);
  std::vector<double> now(size, 0), before(size, 0), next(size), sum(size);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(x + i * width + first, count, now.begin() + i * kColumns);
  }
  for (std::size_t i = 0; i < size; ++i) sum[i] = c[0] * now[i];
  for (std::int64_t k = 1; k < term_count; ++k) {
    // T_1 is the matrix itself; before it there is nothing to take away, and from powers never.
    const bool is_recursion = basis == PolynomialBasis::kChebyshev && k > 1;
    AddTerm(matrix, is_recursion ? 2 : 1, c[k], now.data(), before.data(), next.data(), sum.data());
    if (basis == PolynomialBasis::kChebyshev) std::swap(before, now);
    std::swap(now, next);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(sum.begin() + i * kColumns, count, out + i * width + first);
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
