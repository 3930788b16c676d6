#pragma once

/// The layers of model/layers/fused_layers.h on a CUDA device: bfloat16 on tensor cores, few
/// launches (model/kernels/fused_dense_cuda.h, fused_linear_cuda.h, packed_grf_cuda.h).
///
/// Inference only: h [T,width] is float32 in memory order and updated in place. Values are those of
/// the layers one by one, up to the rounding of bfloat16 results that stay in float32 here, and of
/// states and mixed rows. Nothing waits for the device. Errors: StatusException DEVICE_LOST.
/// Determinism: equal calls give equal bits. Threads: as torch modules.

#include <torch/types.h>

#include <initializer_list>

#include "model/cuda/packed_weights.h"
#include "model/layers/fused_layers.h"
#include "model/layers/layers.h"
#include "model/ops/grf_attention_op.h"

namespace interlacer {

/// Gradients are off, h is on a device, the layers compute in bfloat16, and there are kernels for
/// rows of h and for the layers' widths.
bool CanFuseOnDevice(const torch::Tensor& h, std::initializer_list<const Dense*> layers);

/// A norm and what follows it, with where the packed weights are kept.
struct DeviceFeedForward {
  const LayerNorm& norm;
  const Dense& first;
  const Dense& second;
  PackedWeights& packed;
};
struct DeviceAttention {
  const AttentionLayers& layers;
  PackedWeights& packed;
};

/// h += second(gelu(first(norm(h))))
void AddFeedForwardOnDevice(torch::Tensor& h, const DeviceFeedForward& layers);

/// Rows of h as AddLinearAttentionTo changes them, then their feed-forward layers; false where
/// there is no kernel for so many heads.
bool AddLinearAttentionOnDevice(torch::Tensor& h, const DeviceAttention& attention, int head_count,
                                const LinearAttentionEpsilons& epsilons, const RowRange& rows,
                                const DeviceFeedForward& next);

/// Rows of h as AddGrfAttentionTo changes them, then their feed-forward layers; false for masks
/// that are not packed and for keys that are not as wide as values. Only the queries of `rows` are
/// attended for.
bool AddGrfAttentionOnDevice(torch::Tensor& h, const DeviceAttention& attention,
                             const WalkMask& mask, const torch::Tensor& pair_weights,
                             const GrfEpsilons& epsilons, const RowRange& rows,
                             const DeviceFeedForward& next);

}  // namespace interlacer
