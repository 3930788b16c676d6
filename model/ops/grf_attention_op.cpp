#include "model/ops/grf_attention_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include <utility>
#include <vector>

#include "common/thread_pool.h"
#include "knn/walk_lists.h"
#include "model/ops/saved_object.h"

namespace interlacer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename T>
GrfPackedPairs<T> PackedPairs(const WalkMask& mask, const torch::Tensor& weights) {
  return {mask.lists().offsets.data(), mask.lists().entries.data(), weights.const_data_ptr<T>()};
}

template <typename T>
GrfWeightedPairs<T> WeightedPairs(const WalkMask& mask, const torch::Tensor& weights) {
  return {mask.weighted().offsets.data(), mask.weighted().nodes.data(),
          weights.const_data_ptr<T>()};
}

GrfShape ShapeOf(const torch::Tensor& q, const torch::Tensor& v) {
  return {q.size(0), static_cast<int>(q.size(1)), static_cast<int>(v.size(1))};
}

class GrfAttentionFunction : public torch::autograd::Function<GrfAttentionFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q_in,
                               const torch::Tensor& k_in, const torch::Tensor& v_in,
                               const torch::Tensor& weights_in,
                               const std::shared_ptr<const WalkMask>& mask, double feature_epsilon,
                               double normalizer_epsilon) {
    const torch::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous(),
                        weights = weights_in.contiguous();
    const torch::Tensor out = at::empty_like(v);
    const torch::Tensor normalizer = at::empty({q.size(0)}, q.options());
    const GrfEpsilons epsilons{feature_epsilon, normalizer_epsilon};
    AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "GrfAttention", [&] {
      const GrfInputs<scalar_t> inputs{q.const_data_ptr<scalar_t>(), k.const_data_ptr<scalar_t>(),
                                       v.const_data_ptr<scalar_t>()};
      const auto run = [&](const auto& pairs) {
        GrfAttentionForward(ShapeOf(q, v), pairs, inputs, epsilons,
                            out.mutable_data_ptr<scalar_t>(),
                            normalizer.mutable_data_ptr<scalar_t>(), &ParallelFor);
      };
      mask->packed() ? run(PackedPairs<scalar_t>(*mask, weights))
                     : run(WeightedPairs<scalar_t>(*mask, weights));
    });
    context->save_for_backward({q, k, v, weights, out, normalizer});
    context->saved_data["feature_epsilon"] = feature_epsilon;
    context->saved_data["normalizer_epsilon"] = normalizer_epsilon;
    SaveObject(context, "mask", mask);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &weights = saved[3];
    const auto mask = LoadObject<WalkMask>(context, "mask");
    const torch::Tensor grad_out = grads[0].contiguous();
    const torch::Tensor grad_q = at::empty_like(q), grad_k = at::empty_like(k),
                        grad_v = at::empty_like(v), grad_weights = at::empty_like(weights);
    const torch::Tensor scratch =
        at::empty({GrfBackwardScratchCount(q.size(0), mask->pair_count())}, q.options());
    const GrfEpsilons epsilons{context->saved_data["feature_epsilon"].toDouble(),
                               context->saved_data["normalizer_epsilon"].toDouble()};
    const TransposedLists& lists = mask->transposed();
    const GrfTransposedPairs transposed{lists.offsets.data(), lists.roots.data(),
                                        lists.entry_index.data()};
    AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "GrfAttentionBackward", [&] {
      const GrfInputs<scalar_t> inputs{q.const_data_ptr<scalar_t>(), k.const_data_ptr<scalar_t>(),
                                       v.const_data_ptr<scalar_t>()};
      const GrfSaved<scalar_t> forward{saved[4].const_data_ptr<scalar_t>(),
                                       saved[5].const_data_ptr<scalar_t>(),
                                       grad_out.const_data_ptr<scalar_t>()};
      const GrfGradients<scalar_t> gradients{
          grad_q.mutable_data_ptr<scalar_t>(), grad_k.mutable_data_ptr<scalar_t>(),
          grad_v.mutable_data_ptr<scalar_t>(), grad_weights.mutable_data_ptr<scalar_t>()};
      const auto run = [&](const auto& pairs) {
        GrfAttentionBackward(ShapeOf(q, v), pairs, transposed, inputs, forward, epsilons, gradients,
                             scratch.mutable_data_ptr<scalar_t>(), &ParallelFor);
      };
      mask->packed() ? run(PackedPairs<scalar_t>(*mask, weights))
                     : run(WeightedPairs<scalar_t>(*mask, weights));
    });
    return {grad_q, grad_k, grad_v, grad_weights, {}, {}, {}};
  }
};

}  // namespace

WalkMask::WalkMask(WalkLists lists, int out_degree, bool with_transpose)
    : packed_(true), lists_(std::move(lists)) {
  if (with_transpose) transposed_ = Transpose(lists_);
  loads_ = at::tensor(WalkCodeLoads(out_degree), at::kDouble).reshape({-1, kMaxHops + 1});
}

WalkMask::WalkMask(WeightedWalkLists lists, bool with_transpose)
    : packed_(false), weighted_(std::move(lists)) {
  if (with_transpose) transposed_ = Transpose(weighted_);
  loads_ = at::tensor(weighted_.loads, at::kFloat).reshape({-1, kMaxHops + 1}).to(at::kDouble);
}

std::int64_t WalkMask::pair_count() const {
  return static_cast<std::int64_t>(packed_ ? lists_.entries.size() : weighted_.nodes.size());
}

torch::Tensor GrfAttention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                           const torch::Tensor& pair_weights,
                           const std::shared_ptr<const WalkMask>& mask,
                           const GrfEpsilons& epsilons) {
  const std::int64_t tokens = mask->token_count();
  TORCH_CHECK(q.dim() == 2 && q.size(0) == tokens && q.sizes() == k.sizes() && v.dim() == 2 &&
                  v.size(0) == tokens,
              "GRF attention: expected q, k [", tokens, ",a] and v [", tokens, ",b], got ",
              q.sizes(), ", ", k.sizes(), ", ", v.sizes());
  TORCH_CHECK(pair_weights.dim() == 1 && pair_weights.size(0) == mask->loads().size(0),
              "GRF attention: expected ", mask->loads().size(0), " pair weights, got ",
              pair_weights.sizes());
  TORCH_CHECK(q.scalar_type() == k.scalar_type() && q.scalar_type() == v.scalar_type() &&
                  q.scalar_type() == pair_weights.scalar_type(),
              "GRF attention: q, k, v and pair weights must have one type");
  return GrfAttentionFunction::apply(q, k, v, pair_weights, mask, epsilons.feature,
                                     epsilons.normalizer);
}

}  // namespace interlacer
