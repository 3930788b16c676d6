#pragma once

/// The attention layers in LibTorch's own operations, written in the straightforward way: gather,
/// multiply, sum. Differentiable by autograd, any floating type, any device.
///
/// phi(x) = max(x, 0) + epsilon. Threads: LibTorch's. Errors: c10::Error.

#include <ATen/core/Tensor.h>

namespace interlacer::bench {

/// Separate walks: `ends` [T,p] int64 (p = 40 walks of up to three hops), `weights` [p].
struct WalkPrefixes {
  at::Tensor ends;
  at::Tensor weights;
};

/// Walks merged by end node, a row per pair: `roots` and `ends` [m] int64, `weights` [m].
struct WalkPairs {
  at::Tensor roots;
  at::Tensor ends;
  at::Tensor weights;
};

struct AttentionEpsilons {
  double feature = 1e-3;
  double normalizer = 1e-12;
};

/// q, k [T,a], v [T,b] -> [T,b]
at::Tensor EagerGrfAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const WalkPrefixes& walks, const AttentionEpsilons& epsilons);
at::Tensor EagerGrfAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const WalkPairs& walks, const AttentionEpsilons& epsilons);

/// q, k, v [T, heads * head_width] -> same shape
at::Tensor EagerLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                int heads, const AttentionEpsilons& epsilons);

}  // namespace interlacer::bench
