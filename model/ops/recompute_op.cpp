#include "model/ops/recompute_op.h"

#include <ATen/core/grad_mode.h>
#include <torch/csrc/autograd/autograd.h>

#include <memory>
#include <utility>

#include "model/ops/saved_object.h"

namespace interlacer {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

/// Copies of the inputs detached from their history, with gradients where the inputs need them.
variable_list Leaves(const variable_list& inputs) {
  variable_list leaves;
  for (const torch::Tensor& input : inputs) {
    leaves.push_back(input.detach().requires_grad_(input.requires_grad()));
  }
  return leaves;
}

class RecomputeFunction : public torch::autograd::Function<RecomputeFunction> {
 public:
  static torch::Tensor forward(AutogradContext* context, at::TensorList inputs,
                               const std::shared_ptr<const TensorFunction>& run) {
    context->save_for_backward(inputs.vec());
    SaveObject(context, "run", run);
    // With gradients as in backward: layers may use another form for inference, with other values.
    const at::AutoGradMode with_grad(true);
    return (*run)(Leaves(inputs.vec())).detach();
  }

  static variable_list backward(AutogradContext* context, const variable_list& grads) {
    const auto run = LoadObject<TensorFunction>(context, "run");
    const variable_list inputs = Leaves(context->get_saved_variables());
    {
      const at::AutoGradMode with_grad(true);
      torch::autograd::backward({(*run)(inputs)}, {grads[0]});
    }
    variable_list result;
    for (const torch::Tensor& input : inputs) result.push_back(input.grad());
    result.emplace_back();  // no gradient for the function itself
    return result;
  }
};

}  // namespace

torch::Tensor Recompute(TensorFunction run, const std::vector<torch::Tensor>& inputs) {
  // Only a TensorList is searched for inputs; a std::vector would be treated as a constant.
  return RecomputeFunction::apply(at::TensorList(inputs),
                                  std::make_shared<const TensorFunction>(std::move(run)));
}

}  // namespace interlacer
