// GCC 12's own AVX-512 headers hand an undefined vector to unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include "model/kernels/fused_tile_avx512bf16.h"
#include "model/kernels/gelu.h"

namespace interlacer::avx512bf16 {
namespace {

/// The polynomial of gelu.h on 16 lanes.
inline __m512 Gelu(__m512 x) {
  const __m512 zero = _mm512_setzero_ps(), one = _mm512_set1_ps(1);
  const __m512 y = _mm512_mul_ps(x, _mm512_set1_ps(1 / kGeluRange));
  const __m512 u = _mm512_min_ps(_mm512_mul_ps(y, y), one);
  __m512 p = _mm512_set1_ps(kGeluHalfErf[kGeluTerms - 1]);
  for (int i = kGeluTerms - 2; i >= 0; --i) {
    p = _mm512_fmadd_ps(p, u, _mm512_set1_ps(kGeluHalfErf[i]));
  }
  const __m512 phi = _mm512_fmadd_ps(x, p, _mm512_set1_ps(0.5F));
  return _mm512_mul_ps(x, _mm512_max_ps(_mm512_min_ps(phi, one), zero));
}

}  // namespace

/// Bound: reads of h, 4 bytes a number; the second and the third pass find the row in the first
/// cache. A row adds two sums over lanes, a root and three divisions.
/// Sizes: a row at a time in registers of 16; the chunk is the product's, which reads it next.
/// Layout: rows are contiguous, as its left sides.
void NormRows(int rows, int width, const float* h, const RowNorm& norm, std::uint16_t* to) {
  for (int r = 0; r < rows; ++r) {
    const float* x = h + static_cast<std::int64_t>(r) * width;
    __m512 sum = _mm512_setzero_ps();
    for (int c = 0; c < width; c += kLanes) sum = _mm512_add_ps(sum, _mm512_loadu_ps(x + c));
    const __m512 mean = _mm512_set1_ps(_mm512_reduce_add_ps(sum) / static_cast<float>(width));
    __m512 squares = _mm512_setzero_ps();
    for (int c = 0; c < width; c += kLanes) {
      const __m512 d = _mm512_sub_ps(_mm512_loadu_ps(x + c), mean);
      squares = _mm512_fmadd_ps(d, d, squares);
    }
    const float variance = _mm512_reduce_add_ps(squares) / static_cast<float>(width);
    const __m512 inverse = _mm512_set1_ps(1.0F / __builtin_sqrtf(variance + norm.epsilon));
    for (int c = 0; c < width; c += kLanes) {
      const __m512 d = _mm512_mul_ps(_mm512_sub_ps(_mm512_loadu_ps(x + c), mean), inverse);
      StoreBfloat16(
          to + static_cast<std::int64_t>(r) * width + c,
          _mm512_fmadd_ps(d, _mm512_loadu_ps(norm.scale + c), _mm512_loadu_ps(norm.bias + c)));
    }
  }
  ZeroRows(rows, width, to);
}

/// Bound: memory; 4 bytes are read and 2 written a number, with one conversion for 16 of them.
/// Sizes, layout: rows are contiguous and their width is whole registers, so they are one range.
void RoundRows(int rows, int width, const float* x, std::uint16_t* to) {
  const std::int64_t count = static_cast<std::int64_t>(rows) * width;
  for (std::int64_t i = 0; i < count; i += kLanes) StoreBfloat16(to + i, _mm512_loadu_ps(x + i));
  ZeroRows(rows, width, to);
}

/// Bound, sizes, layout of this and the products below: fused_tile_avx512bf16.h. What they do with
/// a sum is done while its tile is at hand.
void DenseRows(int rows, const std::uint16_t* a, const PackedDense& dense, float* out) {
  const std::int64_t stride = dense.out_width;
  Multiply(rows, a, dense, [&](int row, int column, __m512 sum) {
    _mm512_storeu_ps(out + row * stride + column, sum);
  });
}

void DenseGeluRows(const std::uint16_t* a, const PackedDense& dense, std::uint16_t* out) {
  const std::int64_t stride = dense.out_width;
  Multiply(kFusedChunkRows, a, dense, [&](int row, int column, __m512 sum) {
    StoreBfloat16(out + row * stride + column, Gelu(sum));
  });
}

void AddDenseRows(int rows, const std::uint16_t* a, const PackedDense& dense, float* h) {
  const std::int64_t stride = dense.out_width;
  Multiply(rows, a, dense, [&](int row, int column, __m512 sum) {
    float* to = h + row * stride + column;
    _mm512_storeu_ps(to, _mm512_add_ps(_mm512_loadu_ps(to), sum));
  });
}

}  // namespace interlacer::avx512bf16
