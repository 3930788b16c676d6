#include "model/ops/grf_attention_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include "common/thread_pool.h"
#include "model/cuda/backend.h"
#include "model/ops/saved_object.h"

namespace interlacer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

template <typename T>
GrfPackedPairs<T> PackedPairs(const WalkMask& mask, const torch::Tensor& weights) {
  return {mask.offsets(), mask.entries(), weights.const_data_ptr<T>()};
}

template <typename T>
GrfWeightedPairs<T> WeightedPairs(const WalkMask& mask, const torch::Tensor& weights) {
  return {mask.offsets(), mask.nodes(), weights.const_data_ptr<T>()};
}

GrfShape ShapeOf(const torch::Tensor& q, const torch::Tensor& v) {
  return {q.size(0), static_cast<int>(q.size(1)), static_cast<int>(v.size(1))};
}

GrfInputs<float> FloatInputs(const torch::Tensor& q, const torch::Tensor& k,
                             const torch::Tensor& v) {
  return {q.const_data_ptr<float>(), k.const_data_ptr<float>(), v.const_data_ptr<float>()};
}

void ForwardOnHost(const WalkMask& mask, const torch::Tensor& q, const torch::Tensor& k,
                   const torch::Tensor& v, const torch::Tensor& weights,
                   const GrfEpsilons& epsilons, const torch::Tensor& out,
                   const torch::Tensor& normalizer) {
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "GrfAttention", [&] {
    const GrfInputs<scalar_t> inputs{q.const_data_ptr<scalar_t>(), k.const_data_ptr<scalar_t>(),
                                     v.const_data_ptr<scalar_t>()};
    const auto run = [&](const auto& pairs) {
      GrfAttentionForward(ShapeOf(q, v), pairs, inputs, epsilons, out.mutable_data_ptr<scalar_t>(),
                          normalizer.mutable_data_ptr<scalar_t>(), &ParallelFor);
    };
    mask.packed() ? run(PackedPairs<scalar_t>(mask, weights))
                  : run(WeightedPairs<scalar_t>(mask, weights));
  });
}

CudaError LaunchForward(const CudaBackend& cuda, const WalkMask& mask, const torch::Tensor& q,
                        const torch::Tensor& k, const torch::Tensor& v,
                        const torch::Tensor& weights, const GrfEpsilons& epsilons,
                        const torch::Tensor& out, const torch::Tensor& normalizer) {
  const auto run = [&](const auto& launch, const auto& pairs) {
    return launch(ShapeOf(q, v), pairs, FloatInputs(q, k, v), epsilons,
                  out.mutable_data_ptr<float>(), normalizer.mutable_data_ptr<float>(),
                  cuda.stream_of(q));
  };
  return mask.packed()
             ? run(cuda.kernels.LaunchGrfForward, PackedPairs<float>(mask, weights))
             : run(cuda.kernels.LaunchWeightedGrfForward, WeightedPairs<float>(mask, weights));
}

template <typename T>
GrfGradients<T> GradientsIn(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                            const torch::Tensor& weights) {
  return {q.mutable_data_ptr<T>(), k.mutable_data_ptr<T>(), v.mutable_data_ptr<T>(),
          weights.mutable_data_ptr<T>()};
}

void BackwardOnHost(const WalkMask& mask, const variable_list& saved, const torch::Tensor& grad_out,
                    const GrfEpsilons& epsilons, const torch::Tensor& grad_q,
                    const torch::Tensor& grad_k, const torch::Tensor& grad_v,
                    const torch::Tensor& grad_weights) {
  const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &weights = saved[3];
  const torch::Tensor scratch =
      at::empty({GrfBackwardScratchCount(q.size(0), mask.pair_count())}, q.options());
  AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "GrfAttentionBackward", [&] {
    const GrfInputs<scalar_t> inputs{q.const_data_ptr<scalar_t>(), k.const_data_ptr<scalar_t>(),
                                     v.const_data_ptr<scalar_t>()};
    const GrfSaved<scalar_t> forward{saved[4].const_data_ptr<scalar_t>(),
                                     saved[5].const_data_ptr<scalar_t>(),
                                     grad_out.const_data_ptr<scalar_t>()};
    const auto run = [&](const auto& pairs) {
      GrfAttentionBackward(ShapeOf(q, v), pairs, mask.transposed(), inputs, forward, epsilons,
                           GradientsIn<scalar_t>(grad_q, grad_k, grad_v, grad_weights),
                           scratch.mutable_data_ptr<scalar_t>(), &ParallelFor);
    };
    mask.packed() ? run(PackedPairs<scalar_t>(mask, weights))
                  : run(WeightedPairs<scalar_t>(mask, weights));
  });
}

CudaError LaunchBackward(const CudaBackend& cuda, const WalkMask& mask, const variable_list& saved,
                         const torch::Tensor& grad_out, const GrfEpsilons& epsilons,
                         const GrfGradients<float>& gradients) {
  const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &weights = saved[3];
  const torch::Tensor scratch = at::empty(
      {cuda.kernels.GrfCudaBackwardScratchCount(q.size(0), mask.pair_count())}, q.options());
  const auto run = [&](const auto& launch, const auto& pairs) {
    return launch(
        ShapeOf(q, v), pairs, mask.transposed(), mask.pair_count(), FloatInputs(q, k, v),
        GrfSaved<float>{saved[4].const_data_ptr<float>(), saved[5].const_data_ptr<float>(),
                        grad_out.const_data_ptr<float>()},
        epsilons, gradients, scratch.mutable_data_ptr<float>(), cuda.stream_of(q));
  };
  return mask.packed()
             ? run(cuda.kernels.LaunchGrfBackward, PackedPairs<float>(mask, weights))
             : run(cuda.kernels.LaunchWeightedGrfBackward, WeightedPairs<float>(mask, weights));
}

/// What no gradient reaches.
struct GrfConstants {
  std::shared_ptr<const WalkMask> mask;
  GrfEpsilons epsilons;
  const CudaBackend* cuda;
};

class GrfAttentionFunction : public torch::autograd::Function<GrfAttentionFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q_in,
                               const torch::Tensor& k_in, const torch::Tensor& v_in,
                               const torch::Tensor& weights_in,
                               const std::shared_ptr<const GrfConstants>& constants) {
    const torch::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous(),
                        weights = weights_in.contiguous();
    const torch::Tensor out = at::empty_like(v);
    const torch::Tensor normalizer = at::empty({q.size(0)}, weights.options());
    const auto& [mask, epsilons, cuda] = *constants;
    if (cuda != nullptr) {
      cuda->Check(LaunchForward(*cuda, *mask, q, k, v, weights, epsilons, out, normalizer),
                  "GRF attention");
    } else {
      ForwardOnHost(*mask, q, k, v, weights, epsilons, out, normalizer);
    }
    context->save_for_backward({q, k, v, weights, out, normalizer});
    SaveObject(context, "constants", constants);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2], &weights = saved[3];
    const auto constants = LoadObject<GrfConstants>(context, "constants");
    const auto& [mask, epsilons, cuda] = *constants;
    const torch::Tensor grad_out = grads[0].contiguous();
    const torch::Tensor grad_q = at::empty_like(q), grad_k = at::empty_like(k),
                        grad_v = at::empty_like(v);
    // On a device no kernel writes the rows behind the last pair, so they must be zeroed.
    const torch::Tensor grad_weights =
        cuda != nullptr ? at::zeros_like(weights) : at::empty_like(weights);
    if (cuda != nullptr) {
      cuda->Check(LaunchBackward(*cuda, *mask, saved, grad_out, epsilons,
                                 GradientsIn<float>(grad_q, grad_k, grad_v, grad_weights)),
                  "GRF attention backward");
    } else {
      BackwardOnHost(*mask, saved, grad_out, epsilons, grad_q, grad_k, grad_v, grad_weights);
    }
    return {grad_q, grad_k, grad_v, grad_weights, {}};
  }
};

}  // namespace

torch::Tensor GrfAttention(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                           const torch::Tensor& pair_weights,
                           const std::shared_ptr<const WalkMask>& mask, const GrfEpsilons& epsilons,
                           const CudaBackend* cuda) {
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
  return GrfAttentionFunction::apply(
      q, k, v, pair_weights,
      std::make_shared<const GrfConstants>(GrfConstants{mask, epsilons, cuda}));
}

}  // namespace interlacer
