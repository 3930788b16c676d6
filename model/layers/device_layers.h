#pragma once

/// CUDA forms of model/layers/fused_layers.h: bfloat16 layers on tensor cores in few launches
/// (model/kernels/fused_dense_cuda.h, fused_linear_cuda.h, packed_grf_cuda.h).
///
/// Inference only: h [T,width] is contiguous float32 and updated in place. Values equal those of
/// the single layers up to the rounding of intermediate results, states and mixed rows to bfloat16.
/// Nothing waits for the device. Errors: StatusException DEVICE_LOST.
/// Determinism: equal calls give equal bits. Threads: as torch modules.

#include <torch/types.h>

#include <initializer_list>

#include "model/cuda/packed_weights.h"
#include "model/layers/fused_layers.h"
#include "model/layers/layers.h"
#include "model/ops/grf_attention_op.h"

namespace interlacer {

/// Whether the fused kernels apply: gradients are off, the layers compute in
/// bfloat16, and there are kernels for rows of h and for the layers' widths.
bool CanFuseOnDevice(const CudaBackend& cuda, const torch::Tensor& h,
                     std::initializer_list<const Dense*> layers);

/// A norm and the feed-forward layers after it, with the cache of their packed weights.
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

/// Feed-forward layers: h += second(gelu(first(norm(h)))).
void AddFeedForwardOnDevice(const CudaBackend& cuda, torch::Tensor& h,
                            const DeviceFeedForward& layers);

/// Updates rows of h as AddLinearAttentionTo does, then applies their feed-forward layers; false
/// where there is no kernel for this number of heads.
bool AddLinearAttentionOnDevice(const CudaBackend& cuda, torch::Tensor& h,
                                const DeviceAttention& attention, int head_count,
                                const LinearAttentionEpsilons& epsilons, const RowRange& rows,
                                const DeviceFeedForward& next);

/// Updates rows of h as AddGrfAttentionTo does, then applies their feed-forward layers; false for
/// masks that are not packed and for keys and values of different widths. Only the queries of
/// `rows` are computed.
bool AddGrfAttentionOnDevice(const CudaBackend& cuda, torch::Tensor& h,
                             const DeviceAttention& attention, const WalkMask& mask,
                             const torch::Tensor& pair_weights, const GrfEpsilons& epsilons,
                             const RowRange& rows, const DeviceFeedForward& next);

}  // namespace interlacer
