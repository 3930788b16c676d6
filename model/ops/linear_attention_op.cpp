#include "model/ops/linear_attention_op.h"

#include <ATen/Dispatch.h>
#include <ATen/Functions.h>

#include "common/thread_pool.h"
#include "model/cuda/backend.h"
#include "model/ops/saved_object.h"

namespace interlacer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

LinearAttentionShape ShapeOf(const torch::Tensor& q, int head_count) {
  return {q.size(0), head_count, static_cast<int>(q.size(1) / head_count)};
}

/// What no gradient reaches.
struct LinearConstants {
  int head_count;
  LinearAttentionEpsilons epsilons;
  const CudaBackend* cuda;

  torch::Tensor Scratch(const LinearAttentionShape& shape, const torch::Tensor& q) const {
    return at::empty({cuda != nullptr ? cuda->kernels.LinearCudaScratchCount(shape)
                                      : LinearAttentionScratchCount(shape)},
                     q.options());
  }
};

template <typename T>
LinearAttentionInputs<T> InputsIn(const torch::Tensor& q, const torch::Tensor& k,
                                  const torch::Tensor& v) {
  return {q.const_data_ptr<T>(), k.const_data_ptr<T>(), v.const_data_ptr<T>(), nullptr};
}

/// Tensors saved by forward: q, k, v, result, normalizer, state.
template <typename T>
LinearAttentionSaved<T> SavedIn(const variable_list& saved, const torch::Tensor& grad_out) {
  return {saved[3].const_data_ptr<T>(), saved[4].const_data_ptr<T>(), saved[5].const_data_ptr<T>(),
          grad_out.const_data_ptr<T>()};
}

template <typename T>
LinearAttentionGradients<T> GradientsIn(const torch::Tensor& q, const torch::Tensor& k,
                                        const torch::Tensor& v) {
  return {q.mutable_data_ptr<T>(), k.mutable_data_ptr<T>(), v.mutable_data_ptr<T>()};
}

class LinearAttentionFunction : public torch::autograd::Function<LinearAttentionFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& q_in,
                               const torch::Tensor& k_in, const torch::Tensor& v_in,
                               const std::shared_ptr<const LinearConstants>& constants) {
    const auto& [head_count, epsilons, cuda] = *constants;
    const torch::Tensor q = q_in.contiguous(), k = k_in.contiguous(), v = v_in.contiguous();
    const LinearAttentionShape shape = ShapeOf(q, head_count);
    const torch::Tensor out = at::empty_like(q);
    const torch::Tensor normalizer = at::empty({shape.n, shape.heads}, q.options());
    // S and z of every head; the backward pass needs both.
    const torch::Tensor state =
        at::empty({shape.heads, shape.head_width + 1, shape.head_width}, q.options());
    const torch::Tensor scratch = constants->Scratch(shape, q);
    if (cuda != nullptr) {
      cuda->Check(cuda->kernels.LaunchLinearAttentionForward(
                      shape, InputsIn<float>(q, k, v), epsilons,
                      {out.mutable_data_ptr<float>(), normalizer.mutable_data_ptr<float>(),
                       state.mutable_data_ptr<float>()},
                      scratch.mutable_data_ptr<float>(), cuda->stream_of(q)),
                  "linear attention");
    } else {
      AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "LinearAttention", [&] {
        LinearAttentionForward<scalar_t>(
            shape, InputsIn<scalar_t>(q, k, v), epsilons,
            {out.mutable_data_ptr<scalar_t>(), normalizer.mutable_data_ptr<scalar_t>(),
             state.mutable_data_ptr<scalar_t>()},
            scratch.mutable_data_ptr<scalar_t>(), &ParallelFor);
      });
    }
    context->save_for_backward({q, k, v, out, normalizer, state});
    SaveObject(context, "constants", constants);
    return out;
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const variable_list saved = context->get_saved_variables();
    const torch::Tensor &q = saved[0], &k = saved[1], &v = saved[2];
    const torch::Tensor grad_out = grads[0].contiguous();
    const auto constants = LoadObject<LinearConstants>(context, "constants");
    const auto& [head_count, epsilons, cuda] = *constants;
    const LinearAttentionShape shape = ShapeOf(q, head_count);
    const torch::Tensor grad_q = at::empty_like(q), grad_k = at::empty_like(k),
                        grad_v = at::empty_like(v);
    const torch::Tensor scratch = constants->Scratch(shape, q);
    if (cuda != nullptr) {
      cuda->Check(cuda->kernels.LaunchLinearAttentionBackward(
                      shape, InputsIn<float>(q, k, v), SavedIn<float>(saved, grad_out), epsilons,
                      GradientsIn<float>(grad_q, grad_k, grad_v), scratch.mutable_data_ptr<float>(),
                      cuda->stream_of(q)),
                  "linear attention backward");
    } else {
      AT_DISPATCH_FLOATING_TYPES(q.scalar_type(), "LinearAttentionBackward", [&] {
        LinearAttentionBackward<scalar_t>(shape, InputsIn<scalar_t>(q, k, v),
                                          SavedIn<scalar_t>(saved, grad_out), epsilons,
                                          GradientsIn<scalar_t>(grad_q, grad_k, grad_v),
                                          scratch.mutable_data_ptr<scalar_t>(), &ParallelFor);
      });
    }
    return {grad_q, grad_k, grad_v, {}};
  }
};

void CheckShapes(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                 int head_count) {
  TORCH_CHECK(q.dim() == 2 && q.sizes() == k.sizes() && q.sizes() == v.sizes(),
              "linear attention: expected q, k, v of one shape [T,width], got ", q.sizes(), ", ",
              k.sizes(), ", ", v.sizes());
  TORCH_CHECK(head_count > 0 && q.size(1) % head_count == 0, "linear attention: width ", q.size(1),
              " is not a multiple of ", head_count, " heads");
  TORCH_CHECK(q.scalar_type() == k.scalar_type() && q.scalar_type() == v.scalar_type(),
              "linear attention: q, k, v must have one type");
}

torch::Tensor ByKernels(const torch::Tensor& q, const torch::Tensor& k, const torch::Tensor& v,
                        int head_count, const LinearAttentionEpsilons& epsilons,
                        const CudaBackend* cuda) {
  CheckShapes(q, k, v, head_count);
  return LinearAttentionFunction::apply(
      q, k, v,
      std::make_shared<const LinearConstants>(LinearConstants{head_count, epsilons, cuda}));
}

torch::Tensor ByTorchOnADevice(const torch::Tensor& q, const torch::Tensor& k,
                               const torch::Tensor& v, int head_count,
                               const LinearAttentionEpsilons& epsilons, const CudaBackend* cuda) {
  if (cuda == nullptr) return ByKernels(q, k, v, head_count, epsilons, nullptr);
  CheckShapes(q, k, v, head_count);
  const std::int64_t n = q.size(0), width = q.size(1) / head_count;
  const auto heads = [&](const torch::Tensor& x) {
    return x.reshape({n, head_count, width}).transpose(0, 1);
  };
  const torch::Tensor phi_q = at::relu(heads(q)) + epsilons.feature;
  const torch::Tensor phi_k = at::relu(heads(k)) + epsilons.feature;
  const torch::Tensor state = at::matmul(phi_k.transpose(1, 2), heads(v)) / n;
  const torch::Tensor mean = phi_k.mean(1).unsqueeze(2);
  const torch::Tensor out =
      at::matmul(phi_q, state) / (at::matmul(phi_q, mean) + epsilons.normalizer);
  return out.transpose(0, 1).reshape({n, q.size(1)});
}

}  // namespace

LinearAttentionForm LinearAttentionFormOf(std::int64_t head_width) {
  return head_width <= kMaxLinearCudaWidth ? &ByKernels : &ByTorchOnADevice;
}

torch::Tensor LinearAttention(const torch::Tensor& q, const torch::Tensor& k,
                              const torch::Tensor& v, int head_count,
                              const LinearAttentionEpsilons& epsilons) {
  return ByKernels(q, k, v, head_count, epsilons, nullptr);
}

}  // namespace interlacer
