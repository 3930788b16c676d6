#pragma once

/// Loops of model/kernels/fused_dense.h over one chunk of at most kFusedChunkRows rows. `scratch`
/// must hold FusedScratchCount of the largest widths in use.

#include <cstdint>

#include "model/kernels/packed_dense.h"

namespace interlacer {

inline constexpr int kFusedPanelColumns = 64;  ///< columns that a product writes at once
inline constexpr int kFusedMaxBlockRows = 32;  ///< of a DenseForm
inline constexpr int kFusedChunkRows = 96;     ///< whole blocks of every DenseForm

inline constexpr std::int64_t FusedScratchCount(int width) {
  return static_cast<std::int64_t>(kFusedChunkRows) * width;
}

namespace avx512bf16 {

/// Sums in registers: any width of kFusedLanes.
extern const DenseForm kDenseForm;

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

namespace amx {

/// Sums in tiles, for processors that have them (HostCpuFeatures().amx_bf16).
extern const DenseForm kDenseForm;

}  // namespace amx
}  // namespace interlacer
