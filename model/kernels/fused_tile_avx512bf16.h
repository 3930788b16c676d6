#pragma once

/// The matrix product inside all fused bfloat16 layers; only for files compiled for AVX-512 BF16.
///
/// A tile of kFusedTileRows rows by kFusedPanelColumns columns keeps its sums in registers.
/// Bound: bfloat16 multiply-adds: four loads of the panel serve six rows, 24 products.
/// Sizes: 6 x 4 sums, four weights and one left side occupy 29 of the 32 registers.
/// Layout: a panel holds 64 columns, pairs of inputs side by side; rows of `a` are contiguous.

#include <immintrin.h>

#include "model/kernels/fused_dense_rows.h"

namespace interlacer::avx512bf16 {
namespace {

constexpr int kLanes = kFusedLanes;
constexpr int kVectors = kFusedPanelColumns / kLanes;

inline __m512 LoadBfloat16(const std::uint16_t* from) {
  const __m256i bits = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(bits), 16));
}

inline void StoreBfloat16(std::uint16_t* to, __m512 x) {
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(to),
                      reinterpret_cast<__m256i>(_mm512_cvtneps_pbh(x)));
}

using TileSums = __m512[kFusedTileRows][kVectors];

/// sums = bias + a[0..5, 0..inputs) * panel; `panel` holds pairs of inputs of 64 columns. Not
/// inlined, so that nothing but the sums competes for the registers.
[[gnu::noinline]] void MultiplyTile(const std::uint16_t* a, int inputs, const std::uint16_t* panel,
                                    const float* bias, TileSums& result) {
  TileSums sums;
  for (int c = 0; c < kVectors; ++c) {
    for (int r = 0; r < kFusedTileRows; ++r) sums[r][c] = _mm512_loadu_ps(bias + kLanes * c);
  }
  for (int k = 0; k < inputs; k += 2) {
    __m512bh b[kVectors];
    for (int c = 0; c < kVectors; ++c) {
      b[c] = reinterpret_cast<__m512bh>(
          _mm512_loadu_si512(panel + k * kFusedPanelColumns + 2 * kLanes * c));
    }
    for (int r = 0; r < kFusedTileRows; ++r) {
      int pair;
      __builtin_memcpy(&pair, a + r * inputs + k, sizeof(pair));
      const __m512bh left = reinterpret_cast<__m512bh>(_mm512_set1_epi32(pair));
      for (int c = 0; c < kVectors; ++c) sums[r][c] = _mm512_dpbf16_ps(sums[r][c], left, b[c]);
    }
  }
  for (int r = 0; r < kFusedTileRows; ++r) {
    for (int c = 0; c < kVectors; ++c) result[r][c] = sums[r][c];
  }
}

/// Calls finish(row, column, 16 sums with bias) for `rows` rows and all columns.
template <typename Finish>
inline void Multiply(int rows, const std::uint16_t* a, const PackedDense& dense,
                     const Finish& finish) {
  const int inputs = dense.in_width;
  for (int column = 0; column < dense.out_width; column += kFusedPanelColumns) {
    const std::uint16_t* panel = dense.weight.data() + static_cast<std::int64_t>(column) * inputs;
    for (int row = 0; row < rows; row += kFusedTileRows) {
      TileSums sums;
      MultiplyTile(a + static_cast<std::int64_t>(row) * inputs, inputs, panel, dense.bias + column,
                   sums);
      const int valid = rows - row < kFusedTileRows ? rows - row : kFusedTileRows;
      for (int r = 0; r < valid; ++r) {
        for (int c = 0; c < kVectors; ++c) finish(row + r, column + kLanes * c, sums[r][c]);
      }
    }
  }
}

void ZeroRows(int from_row, int width, std::uint16_t* to) {
  for (std::int64_t i = static_cast<std::int64_t>(from_row) * width; i < FusedScratchCount(width);
       ++i) {
    to[i] = 0;
  }
}

}  // namespace
}  // namespace interlacer::avx512bf16
