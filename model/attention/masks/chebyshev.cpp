#include "model/attention/masks/chebyshev.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/thread_pool.h"

namespace interlacer::attention {
namespace {

/// A cache line of float32, and one of AVX-512's registers.
constexpr std::int64_t kColumns = 16;

/// The matrix (2 / rho) S - 1.
template <typename T>
struct Scaled {
  const SparsePattern& pattern;
  std::vector<T> values, diagonal;
};

/// Bound by the cache: every term reads a row's neighbours and four rows of its own.
/// next = factor * (matrix now) - before, and sum += c * next.
template <typename T>
void AddTerm(const Scaled<T>& matrix, T factor, T c, const T* now, const T* before, T* next,
             T* sum) {
  const std::int64_t* offsets = matrix.pattern.offsets.data();
  const std::int64_t* indices = matrix.pattern.indices.data();
  for (std::int64_t i = 0; i < matrix.pattern.rows; ++i) {
    T total[kColumns];
    for (std::int64_t c_ = 0; c_ < kColumns; ++c_) {
      total[c_] = matrix.diagonal[i] * now[i * kColumns + c_];
    }
    for (std::int64_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      const T value = matrix.values[e];
      const T* other = now + indices[e] * kColumns;
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
template <typename T>
void OneTile(const Scaled<T>& matrix, const double* c, std::int64_t term_count, const T* x,
             std::int64_t width, std::int64_t first, std::int64_t count, T* out) {
  const std::int64_t rows = matrix.pattern.rows;
  const auto size = static_cast<std::size_t>(rows * kColumns);
  std::vector<T> now(size, 0), before(size, 0), next(size), sum(size);
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(x + i * width + first, count, now.begin() + i * kColumns);
  }
  for (std::size_t i = 0; i < size; ++i) sum[i] = static_cast<T>(c[0]) * now[i];
  for (std::int64_t k = 1; k < term_count; ++k) {
    // T_1 is the matrix itself; before it there is nothing to take away.
    AddTerm<T>(matrix, k == 1 ? T{1} : T{2}, static_cast<T>(c[k]), now.data(), before.data(),
               next.data(), sum.data());
    std::swap(before, now);
    std::swap(now, next);
  }
  for (std::int64_t i = 0; i < rows; ++i) {
    std::copy_n(sum.begin() + i * kColumns, count, out + i * width + first);
  }
}

template <typename T>
Scaled<T> Scale(const SparsePattern& pattern, const torch::Tensor& values,
                const torch::Tensor& diagonal, double rho) {
  Scaled<T> matrix{pattern, {}, {}};
  const double* value = values.const_data_ptr<double>();
  const double* own = diagonal.const_data_ptr<double>();
  for (std::int64_t e = 0; e < pattern.entry_count(); ++e) {
    matrix.values.push_back(static_cast<T>(2 / rho * value[e]));
  }
  for (std::int64_t i = 0; i < pattern.rows; ++i) {
    matrix.diagonal.push_back(static_cast<T>(2 / rho * own[i] - 1));
  }
  return matrix;
}

}  // namespace

torch::Tensor ChebyshevProduct(const SparsePattern& pattern, const torch::Tensor& values,
                               const torch::Tensor& diagonal, double rho,
                               const torch::Tensor& coefficients, const torch::Tensor& x_in) {
  const torch::Tensor x = x_in.contiguous(), c = coefficients.contiguous();
  INTERLACER_CHECK(x.dim() == 3 && x.size(1) == pattern.rows && pattern.rows == pattern.columns &&
                       values.numel() == pattern.entry_count() &&
                       diagonal.numel() == pattern.rows && c.dim() == 2 && c.size(0) == x.size(0) &&
                       c.size(1) > 0,
                   "operands of a Chebyshev product");
  torch::Tensor out = at::empty_like(x);
  const std::int64_t width = x.size(2), rows = x.size(1), term_count = c.size(1);
  const std::int64_t tile_count = (width + kColumns - 1) / kColumns;
  AT_DISPATCH_FLOATING_TYPES(x.scalar_type(), "ChebyshevProduct", [&] {
    const Scaled<scalar_t> matrix =
        Scale<scalar_t>(pattern, values.contiguous(), diagonal.contiguous(), rho);
    const scalar_t* source = x.const_data_ptr<scalar_t>();
    scalar_t* target = out.mutable_data_ptr<scalar_t>();
    ParallelFor(x.size(0) * tile_count, 1, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t tile = begin; tile < end; ++tile) {
        const std::int64_t head = tile / tile_count, first = tile % tile_count * kColumns;
        OneTile<scalar_t>(matrix, c.const_data_ptr<double>() + head * term_count, term_count,
                          source + head * rows * width, width, first,
                          std::min(kColumns, width - first), target + head * rows * width);
      }
    });
  });
  return out;
}

}  // namespace interlacer::attention
