#pragma once

/// Fused bfloat16 layers for inference on the CPU (model/kernels/fused_dense.h), on torch tensors.
/// Values equal those of the single layers up to the rounding of bfloat16 results that the fused
/// form keeps in float32. No gradients. Threads: as torch modules.

#include <torch/types.h>

#include <initializer_list>
#include <vector>

#include "model/kernels/fused_dense.h"
#include "model/kernels/linear_attention.h"
#include "model/layers/layers.h"
#include "model/ops/grf_attention_op.h"

namespace interlacer {

/// Parameters of a norm for kernels; the layer must be in float32.
RowNorm RowNormOf(const LayerNorm& norm);

/// Whether the fused kernels apply: gradients are off, h is a contiguous float32 matrix in host
/// memory, the layers compute in bfloat16 and this processor's kernels support their widths.
bool CanFuse(const torch::Tensor& h, std::initializer_list<const Dense*> layers);

/// Computes layer(norm(h)) for every layer.
std::vector<torch::Tensor> NormThenDense(const torch::Tensor& h, const LayerNorm& norm,
                                         std::initializer_list<const Dense*> layers);
struct AttentionLayers {
  const LayerNorm& norm;
  const Dense& query;
  const Dense& key;
  const Dense& value;
  const Dense& out;
};

/// Rows of h += out(Mix(query(norm(h)), key(norm(h)), value(norm(h)))), in place, with the mixing
/// of model/ops/{linear,grf}_attention_op.h; false where the kernels do not support the head width.
bool AddLinearAttentionTo(torch::Tensor& h, const AttentionLayers& layers, int head_count,
                          const LinearAttentionEpsilons& epsilons, const RowRange& rows);
/// `pair_weights` [256] by path-count code; false for masks that are not packed.
bool AddGrfAttentionTo(torch::Tensor& h, const AttentionLayers& layers, const WalkMask& mask,
                       const torch::Tensor& pair_weights, const GrfEpsilons& epsilons,
                       const RowRange& rows);

/// h += layer(x), in place.
void AddDenseTo(torch::Tensor& h, const torch::Tensor& x, const Dense& layer);
/// h += second(gelu(first(norm(h)))), in place.
void AddFeedForwardTo(torch::Tensor& h, const LayerNorm& norm, const Dense& first,
                      const Dense& second);

}  // namespace interlacer
