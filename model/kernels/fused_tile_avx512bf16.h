#pragma once

/// The walk over the blocks of a matrix product inside all fused bfloat16 layers, and conversions;
/// only for files compiled for AVX-512 BF16. Blocks are multiplied by a layer's DenseForm.

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

/// Calls finish(row, column, 16 sums with bias) for `rows` rows and all columns.
template <typename Finish>
inline void Multiply(int rows, const std::uint16_t* a, const PackedDense& dense,
                     const Finish& finish) {
  alignas(64) float sums[kFusedMaxBlockRows * kFusedPanelColumns];
  const DenseForm& form = *dense.form;
  const int inputs = dense.in_width, block = form.rows;
  if (form.begin) form.begin();
  for (int column = 0; column < dense.out_width; column += kFusedPanelColumns) {
    const std::uint16_t* panel = dense.weight.data() + static_cast<std::int64_t>(column) * inputs;
    for (int row = 0; row < rows; row += block) {
      form.multiply(a + static_cast<std::int64_t>(row) * inputs, inputs, panel, dense.bias + column,
                    sums);
      const int valid = rows - row < block ? rows - row : block;
      for (int r = 0; r < valid; ++r) {
        for (int c = 0; c < kFusedPanelColumns; c += kLanes) {
          finish(row + r, column + c, _mm512_load_ps(sums + r * kFusedPanelColumns + c));
        }
      }
    }
  }
  if (form.end) form.end();
}

void ZeroRows(int from_row, int width, std::uint16_t* to) {
  for (std::int64_t i = static_cast<std::int64_t>(from_row) * width; i < FusedScratchCount(width);
       ++i) {
    to[i] = 0;
  }
}

}  // namespace
}  // namespace interlacer::avx512bf16
