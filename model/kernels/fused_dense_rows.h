#pragma once

/// Loops of model/kernels/fused_dense.h over one chunk of at most kFusedChunkRows rows. `scratch`
/// must hold FusedScratchCount of the largest widths in use.

#include <cstdint>

#include "model/kernels/packed_dense.h"

namespace interlacer {

inline constexpr int kFusedTileRows = 6;       ///< rows of a tile whose sums fit the registers
inline constexpr int kFusedPanelColumns = 64;  ///< columns of such a tile
inline constexpr int kFusedChunkRows = 16 * kFusedTileRows;

inline constexpr std::int64_t FusedScratchCount(int width) {
  return static_cast<std::int64_t>(kFusedChunkRows) * width;
}

namespace avx512bf16 {

/// Normalises and rounds rows to [kFusedChunkRows,width]; rows from `rows` on become zero.
void NormRows(int rows, int width, const float* h, const RowNorm& norm, std::uint16_t* to);
void RoundRows(int rows, int width, const float* x, std::uint16_t* to);

/// out = a W^T + b
void DenseRows(int rows, const std::uint16_t* a, const PackedDense& dense, float* out);
/// out = bfloat16(GELU(a W^T + b)), rows from `rows` on included
void DenseGeluRows(const std::uint16_t* a, const PackedDense& dense, std::uint16_t* out);
/// h += a W^T + b
void AddDenseRows(int rows, const std::uint16_t* a, const PackedDense& dense, float* h);

}  // namespace avx512bf16
}  // namespace interlacer
