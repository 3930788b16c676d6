#pragma once

/// ReLU linear attention as a differentiable tensor operation.
///
///   q, k, v  [T, heads * head_width], one type, float32 or float64   ->   same shape
/// On a device the type is float32.
/// Formula, order of sums and determinism: model/kernels/linear_attention.h.
/// Errors: c10::Error for shapes and types. Threads: may run together.
/// Source: grf-masking, Eq. 3, with ReLU features and no random projection.

#include <torch/types.h>

#include "model/kernels/linear_attention.h"

namespace interlacer {

struct CudaBackend;

/// Without a backend on the host.
using LinearAttentionForm = torch::Tensor (*)(const torch::Tensor& q, const torch::Tensor& k,
                                              const torch::Tensor& v, int head_count,
                                              const LinearAttentionEpsilons& epsilons,
                                              const CudaBackend* cuda);

/// The form for heads of this width, chosen once for a layer: a device has kernels for heads up to
/// kMaxLinearCudaWidth (model/kernels/linear_attention_cuda.h) and takes torch's operations for
/// wider ones. The host has kernels for all.
LinearAttentionForm LinearAttentionFormOf(std::int64_t head_width);

/// On the host.
torch::Tensor LinearAttention(const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, int head_count,
                              const LinearAttentionEpsilons& epsilons);

}  // namespace interlacer
