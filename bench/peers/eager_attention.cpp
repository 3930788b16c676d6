#include "bench/peers/eager_attention.h"

#include <ATen/Functions.h>

namespace interlacer::bench {
namespace {

torch::Tensor Feature(const torch::Tensor& x, double epsilon) { return at::relu(x) + epsilon; }

}  // namespace

torch::Tensor EagerGrfAttention(const torch::Tensor& q, const torch::Tensor& k,
                                const torch::Tensor& v, const WalkPrefixes& walks,
                                const AttentionEpsilons& epsilons) {
  const std::int64_t tokens = walks.ends.size(0), prefixes = walks.ends.size(1);
  const torch::Tensor index = walks.ends.flatten();
  const torch::Tensor keys =
      Feature(k, epsilons.feature).index_select(0, index).view({tokens, prefixes, k.size(1)});
  const torch::Tensor values = v.index_select(0, index).view({tokens, prefixes, v.size(1)});
  const torch::Tensor scores =
      (Feature(q, epsilons.feature).unsqueeze(1) * keys).sum(2) * walks.weights;
  return (scores.unsqueeze(2) * values).sum(1) / (scores.sum(1, true) + epsilons.normalizer);
}

torch::Tensor EagerGrfAttention(const torch::Tensor& q, const torch::Tensor& k,
                                const torch::Tensor& v, const WalkPairs& walks,
                                const AttentionEpsilons& epsilons) {
  const torch::Tensor scores = (Feature(q, epsilons.feature).index_select(0, walks.roots) *
                                Feature(k, epsilons.feature).index_select(0, walks.ends))
                                   .sum(1, true) *
                               walks.weights.unsqueeze(1);
  const torch::Tensor sums = at::zeros_like(v).index_add(
      0, walks.roots, scores * v.index_select(0, walks.ends));
  const torch::Tensor normalizer =
      at::zeros({v.size(0), 1}, v.options()).index_add(0, walks.roots, scores);
  return sums / (normalizer + epsilons.normalizer);
}

torch::Tensor EagerLinearAttention(const torch::Tensor& q, const torch::Tensor& k,
                                   const torch::Tensor& v, int heads,
                                   const AttentionEpsilons& epsilons) {
  const std::int64_t tokens = q.size(0), head_width = q.size(1) / heads;
  const auto by_head = [&](const torch::Tensor& x) {
    return x.view({tokens, heads, head_width}).transpose(0, 1);  // [h,T,w]
  };
  const torch::Tensor query = by_head(Feature(q, epsilons.feature));
  const torch::Tensor key = by_head(Feature(k, epsilons.feature));
  const torch::Tensor state = at::matmul(key.transpose(1, 2), by_head(v)) / tokens;  // [h,w,w]
  const torch::Tensor sums = key.mean(1).unsqueeze(2);                               // [h,w,1]
  const torch::Tensor out =
      at::matmul(query, state) / (at::matmul(query, sums) + epsilons.normalizer);
  return out.transpose(0, 1).reshape({tokens, heads * head_width});
}

}  // namespace interlacer::bench
