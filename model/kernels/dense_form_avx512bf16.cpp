// GCC 12's own AVX-512 headers hand an undefined vector to unmasked intrinsics.
#pragma GCC diagnostic ignored "-Wuninitialized"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"

#include <immintrin.h>

#include "model/kernels/fused_dense_rows.h"

namespace interlacer::avx512bf16 {
namespace {

constexpr int kRows = 6;
constexpr int kVectors = kFusedPanelColumns / kFusedLanes;

/// Bound: bfloat16 multiply-adds: four loads of the panel serve six rows, 24 products.
/// Sizes: 6 x 4 sums, four weights and one left side occupy 29 of the 32 registers.
/// Layout: rows of `a` are contiguous.
void Multiply(const std::uint16_t* a, int inputs, const std::uint16_t* panel, const float* bias,
              float* result) {
  __m512 sums[kRows][kVectors];
  for (int c = 0; c < kVectors; ++c) {
    for (int r = 0; r < kRows; ++r) sums[r][c] = _mm512_loadu_ps(bias + kFusedLanes * c);
  }
  for (int k = 0; k < inputs; k += 2) {
    __m512bh b[kVectors];
    for (int c = 0; c < kVectors; ++c) {
      b[c] = reinterpret_cast<__m512bh>(
          _mm512_loadu_si512(panel + k * kFusedPanelColumns + 2 * kFusedLanes * c));
    }
    for (int r = 0; r < kRows; ++r) {
      int pair;
      __builtin_memcpy(&pair, a + r * inputs + k, sizeof(pair));
      const __m512bh left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
      for (int c = 0; c < kVectors; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], left, b[c]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kVectors; ++c) {
      _mm512_storeu_ps(result + r * kFusedPanelColumns + kFusedLanes * c, sums[r][c]);
    }
  }
}

}  // namespace

static_assert(kFusedChunkRows % kRows == 0 && kRows <= kFusedMaxBlockRows);

const DenseForm kDenseForm{"AVX-512 BF16", kRows, kFusedLanes, nullptr, &Multiply, nullptr};

}  // namespace interlacer::avx512bf16
