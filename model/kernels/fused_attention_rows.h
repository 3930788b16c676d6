#pragma once

/// Loops of model/kernels/fused_attention.h over one chunk of rows; rules as
/// model/kernels/fused_dense_rows.h.

#include <cstdint>

#include "model/kernels/fused_attention.h"
#include "model/kernels/fused_dense_rows.h"

namespace interlacer::avx512bf16 {

/// to = bfloat16(phi(q) / den), den = normalizer + phi(q) . z head by head; z [heads,head_width].
void LinearQueryRows(int rows, int heads, int head_width, const float* q, const float* z,
                     const LinearAttentionEpsilons& epsilons, std::uint16_t* to);

/// to[r * stride + c] = bfloat16(a W^T + b), or of phi of it.
void DenseToBfloat16Rows(int rows, const std::uint16_t* a, const PackedDense& dense,
                         std::int64_t stride, std::uint16_t* to);
void DensePhiRows(int rows, const std::uint16_t* a, const PackedDense& dense, float epsilon,
                  std::int64_t stride, std::uint16_t* to);

struct GrfBfloat16 {
  int key_width = 0;
  int value_width = 0;
  GrfPackedPairs<float> pairs;
  const std::uint16_t* keys_values = nullptr;  ///< [n, phi(k) | v]
  float normalizer = 0;
};

/// out [kFusedChunkRows,value_width] of the rows from `first` on; phi_q [rows,key_width]. Rows from
/// `rows` on become zero.
void GrfRows(const GrfBfloat16& grf, std::int64_t first, int rows, const std::uint16_t* phi_q,
             std::uint16_t* out);

}  // namespace interlacer::avx512bf16
