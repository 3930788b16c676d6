#pragma once

/// A linear attention layer with norm, projections and residual sum in three launches on tensor
/// cores, CUDA only: the CUDA form of AddLinearAttention (model/kernels/fused_attention.h).
///
///   h_i += out(Mix(query(LN h), key(LN h), value(LN h))_i)   for the rows i of a range,
/// Mix being the ReLU linear attention of model/kernels/linear_attention.h over all n rows of h
/// [n,width] float32, and then the feed-forward layers. Neither queries, keys nor values reach
/// memory. width = 4 heads * 16, 32 or 64. Rounding: as model/kernels/fused_dense_cuda.h; phi(k),
/// v, phi(q) / den, the state and the mixed rows are also rounded to bfloat16; denominators and
/// sums are float32. NaN in any row reaches all rows. Determinism: the state is summed over
/// kLinearFusedTokens rows at a time, then in the order of these blocks: equal calls give equal
/// bits. Contract: common/kernels/cuda.h.

#include <cstdint>

#include "common/kernels/cuda.h"
#include "common/kernels/host_device.h"
#include "model/kernels/fused_dense_cuda.h"
#include "model/kernels/linear_attention.h"

namespace interlacer {

inline constexpr int kFusedHeads = 4;
inline constexpr std::int64_t kLinearFusedTokens = 256;

bool FitsFusedLinear(int width, int heads);

/// Hidden inputs in a piece of the query and output layers: one head, but at least kDensePiece.
INTERLACER_HOST_DEVICE inline constexpr int LinearPiece(int width) {
  return width / kFusedHeads > 32 ? width / kFusedHeads : 32;
}

struct LinearLayers {
  RowNorm norm;
  /// Query and output layer, packed by LaunchPackDensePair with LinearPiece(width).
  const std::uint16_t* packed_query_out = nullptr;
  /// Key and value layer, each packed by LaunchPackTransposedDense.
  const std::uint16_t* packed_key = nullptr;
  const std::uint16_t* packed_value = nullptr;
  const float* query_bias = nullptr;
  const float* key_bias = nullptr;
  const float* value_bias = nullptr;
  const float* out_bias = nullptr;
};

/// Number of floats of scratch memory that the launch needs, aligned to 16 bytes.
std::int64_t FusedLinearScratchCount(std::int64_t n, int width);

CudaError LaunchAddLinearAttention(std::int64_t n, int width, const RowRange& changed,
                                   const LinearLayers& layers,
                                   const LinearAttentionEpsilons& epsilons,
                                   const FeedForwardLayers& feed_forward, float* scratch, float* h,
                                   CudaStream stream);

}  // namespace interlacer
