#pragma once

/// Loops of model/kernels/fused_attention.h over one chunk of rows; see
/// model/kernels/fused_dense_rows.h for sizes and padding.

#include <cstdint>

#include "model/kernels/fused_attention.h"
#include "model/kernels/fused_dense_rows.h"

namespace interlacer::avx512bf16 {

/// Normalises queries: to = bfloat16(phi(q) / den), den = normalizer + phi(q) . z for each head; z
/// [heads,head_width].
void LinearQueryRows(int rows, int heads, int head_width, const float* q, const float* z,
                     const LinearAttentionEpsilons& epsilons, std::uint16_t* to);

/// Writes a dense layer's results at a row stride: to[r * stride + c] = bfloat16(a W^T + b), or phi
/// of it.
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

/// Masked attention for `rows` rows starting at `first`: out [kFusedChunkRows,value_width], phi_q
/// [rows,key_width]. Rows of `out` from `rows` on become zero.
void GrfRows(const GrfBfloat16& grf, std::int64_t first, int rows, const std::uint16_t* phi_q,
             std::uint16_t* out);

}  // namespace interlacer::avx512bf16
