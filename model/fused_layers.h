#pragma once

/// Layers of inference that run together in bfloat16 (model/kernels/fused_dense.h), on torch
/// tensors. Values are those of the layers one by one, up to the rounding of bfloat16 results that
/// the fused form keeps in float32. No gradients. Threads: as torch modules.

#include <torch/types.h>

#include <initializer_list>
#include <vector>

#include "model/layers.h"

namespace interlacer {

/// Gradients are off, h is a float32 matrix in memory order, the layers compute in bfloat16 and
/// this processor's kernels take their widths.
bool CanFuse(const torch::Tensor& h, std::initializer_list<const Dense*> layers);

/// layer(norm(h)) of every layer.
std::vector<torch::Tensor> NormThenDense(const torch::Tensor& h, const LayerNorm& norm,
                                         std::initializer_list<const Dense*> layers);
/// h += layer(x), in place.
void AddDenseTo(torch::Tensor& h, const torch::Tensor& x, const Dense& layer);
/// h += second(gelu(first(norm(h)))), in place.
void AddFeedForwardTo(torch::Tensor& h, const LayerNorm& norm, const Dense& first,
                      const Dense& second);

}  // namespace interlacer
