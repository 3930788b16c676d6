#pragma once

/// Linear attention masked by walks on a token graph, as a differentiable tensor operation.
///
///   q, k [T,qk_width], v [T,v_width], one type, float32 or float64   ->   [T,v_width]
/// On a device the type is float32 and widths are at most kMaxGrfCudaWidth.
/// WalkMask holds the pairs: packed path counts (exact lists) or real loads (sampled walks,
/// weighted edges). A pair's weight is a function of the learned coefficients; the caller computes
/// it with autograd from WalkMask::loads, [256,hops+1] by path-count code or [pairs,hops+1].
/// Formula and determinism: model/kernels/grf_attention.h. Errors: c10::Error for shapes and types.
/// Threads: may run together; a WalkMask is immutable.
/// Source: grf-masking, Alg. 2 (asymmetric features), App. C.3.

#include <torch/types.h>

#include <memory>

#include "model/kernels/grf_attention.h"
#include "model/ops/walk_mask.h"

namespace interlacer {

struct CudaBackend;

/// `pair_weights` is [256] if WalkMask::packed, else [pairs]. Without a backend on the host.
torch::Tensor GrfAttention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                           const torch::Tensor& pair_weights,
                           const std::shared_ptr<const WalkMask>& mask, const GrfEpsilons& epsilons,
                           const CudaBackend* cuda = nullptr);

}  // namespace interlacer
