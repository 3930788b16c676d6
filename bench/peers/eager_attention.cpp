#include "bench/peers/eager_attention.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

namespace interlacer::bench {
namespace {

at::Tensor Feature(const at::Tensor& x, double epsilon) { return at::relu(x) + epsilon; }

}  // namespace

at::Tensor EagerGrfAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const WalkPrefixes& walks, const AttentionEpsilons& epsilons) {
  const std::int64_t tokens = walks.ends.size(0), prefixes = walks.ends.size(1);
  const at::Tensor index = walks.ends.flatten();
  const at::Tensor keys =
      Feature(k, epsilons.feature).index_select(0, index).view({tokens, prefixes, k.size(1)});
  const at::Tensor values = v.index_select(0, index).view({tokens, prefixes, v.size(1)});
  const at::Tensor scores =
      (Feature(q, epsilons.feature).unsqueeze(1) * keys).sum(2) * walks.weights;
  return (scores.unsqueeze(2) * values).sum(1) / (scores.sum(1, true) + epsilons.normalizer);
}

at::Tensor EagerGrfAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                             const WalkPairs& walks, const AttentionEpsilons& epsilons) {
  const at::Tensor scores = (Feature(q, epsilons.feature).index_select(0, walks.roots) *
                             Feature(k, epsilons.feature).index_select(0, walks.ends))
                                .sum(1, true) *
                            walks.weights.unsqueeze(1);
  const at::Tensor sums =
      at::zeros_like(v).index_add(0, walks.roots, scores * v.index_select(0, walks.ends));
  const at::Tensor normalizer =
      at::zeros({v.size(0), 1}, v.options()).index_add(0, walks.roots, scores);
  return sums / (normalizer + epsilons.normalizer);
}

at::Tensor EagerLinearAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                int heads, const AttentionEpsilons& epsilons) {
  const std::int64_t tokens = q.size(0), head_width = q.size(1) / heads;
  const auto by_head = [&](const at::Tensor& x) {
    return x.view({tokens, heads, head_width}).transpose(0, 1);  // [h,T,w]
  };
  const at::Tensor query = by_head(Feature(q, epsilons.feature));
  const at::Tensor key = by_head(Feature(k, epsilons.feature));
  const at::Tensor state = at::matmul(key.transpose(1, 2), by_head(v)) / tokens;  // [h,w,w]
  const at::Tensor sums = key.mean(1).unsqueeze(2);                               // [h,w,1]
  const at::Tensor out = at::matmul(query, state) / (at::matmul(query, sums) + epsilons.normalizer);
  return out.transpose(0, 1).reshape({tokens, heads * head_width});
}

}  // namespace interlacer::bench
