#pragma once

/// Linear attention masked by walks on a token graph, as a differentiable tensor operation.
///
///   q, k [T,qk_width], v [T,v_width], one type, float32 or float64   ->   [T,v_width]
/// WalkMask holds the pairs: packed path counts (exact lists) or real loads (sampled walks,
/// weighted edges). A pair's weight is a function of the learned coefficients; the caller computes
/// it with autograd from WalkMask::loads, [256,hops+1] by path-count code or [pairs,hops+1].
/// Formula and determinism: model/kernels/grf_attention.h. Errors: c10::Error for shapes and types.
/// Threads: may run together; a WalkMask is immutable.
/// Source: GRF masking paper, Alg. 2 (asymmetric features), App. C.3.

#include <torch/types.h>

#include <memory>

#include "knn/knn_graph.h"
#include "model/kernels/grf_attention.h"

namespace interlacer {

/// The pairs of one step's graph, shared by all layers.
class WalkMask {
 public:
  /// Exact lists; an edge weighs 1 / out_degree. The transpose serves the backward pass only.
  WalkMask(WalkLists lists, int out_degree, bool with_transpose);
  WalkMask(WeightedWalkLists lists, bool with_transpose);

  std::int64_t token_count() const { return packed_ ? lists_.n : weighted_.n; }
  std::int64_t pair_count() const;
  bool packed() const { return packed_; }
  const WalkLists& lists() const { return lists_; }
  const WeightedWalkLists& weighted() const { return weighted_; }
  const TransposedLists& transposed() const { return transposed_; }
  /// loads[.,t]: estimate of the t-th power of the weighted adjacency; float64.
  const torch::Tensor& loads() const { return loads_; }

 private:
  bool packed_;
  WalkLists lists_;
  WeightedWalkLists weighted_;
  TransposedLists transposed_;
  torch::Tensor loads_;
};

/// `pair_weights` [256] or [pairs], by WalkMask::packed.
torch::Tensor GrfAttention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                           const torch::Tensor& pair_weights,
                           const std::shared_ptr<const WalkMask>& mask,
                           const GrfEpsilons& epsilons);

}  // namespace interlacer
