#include "model/training/optimizer.h"

#include <torch/nn/utils/clip_grad.h>

#include <cmath>

#include "model/network/world_model.h"

namespace interlacer {
namespace {

constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;

}  // namespace

ModelOptimizer::ModelOptimizer(torch::nn::Module* model, double weight_decay,
                               double gradient_clip_norm)
    : model_(model), clip_norm_(gradient_clip_norm) {
  std::vector<torch::Tensor> decayed, plain;
  for (const auto& item : model->named_parameters()) {
    (HasWeightDecay(item.key()) ? decayed : plain).push_back(item.value());
  }
  const auto options = [](double decay) {
    auto result = std::make_unique<torch::optim::AdamWOptions>();
    result->betas({kBeta1, kBeta2}).eps(kEpsilon).weight_decay(decay);
    return result;
  };
  std::vector<torch::optim::OptimizerParamGroup> groups;
  groups.emplace_back(decayed, options(weight_decay));
  groups.emplace_back(plain, options(0.0));
  adamw_ = std::make_unique<torch::optim::AdamW>(groups);
}

double ModelOptimizer::Step(double learning_rate) {
  const double norm = torch::nn::utils::clip_grad_norm_(model_->parameters(), clip_norm_);
  if (std::isfinite(norm)) {
    for (auto& group : adamw_->param_groups()) group.options().set_lr(learning_rate);
    adamw_->step();
  }
  adamw_->zero_grad();
  return norm;
}

NamedTensors ModelOptimizer::State() const {
  NamedTensors tensors;
  const auto& state = adamw_->state();
  for (const auto& item : model_->named_parameters()) {
    const auto found = state.find(item.value().unsafeGetTensorImpl());
    if (found == state.end()) continue;  // never had a gradient
    const auto& adam = static_cast<const torch::optim::AdamWParamState&>(*found->second);
    tensors[item.key() + ".exp_avg"] = adam.exp_avg();
    tensors[item.key() + ".exp_avg_sq"] = adam.exp_avg_sq();
    tensors[item.key() + ".step"] = torch::tensor({adam.step()}, torch::kInt64);
  }
  return tensors;
}

Status ModelOptimizer::LoadState(const NamedTensors& tensors) {
  const auto find = [&](const std::string& name) {
    const auto it = tensors.find(name);
    return it == tensors.end() ? torch::Tensor() : it->second;
  };
  for (const auto& item : model_->named_parameters()) {
    const torch::Tensor average = find(item.key() + ".exp_avg");
    const torch::Tensor square = find(item.key() + ".exp_avg_sq");
    const torch::Tensor step = find(item.key() + ".step");
    if (!average.defined() && !square.defined() && !step.defined()) continue;
    if (!average.defined() || !square.defined() || !step.defined() || step.numel() != 1 ||
        average.sizes() != item.value().sizes() || square.sizes() != item.value().sizes()) {
      return FailedPrecondition(reason::CHECKPOINT_INVALID,
                                "optimizer state of " + item.key() +
                                    ": expected exp_avg, exp_avg_sq and step of the parameter's "
                                    "shape, got something else");
    }
    auto state = std::make_unique<torch::optim::AdamWParamState>();
    state->step(step.item<std::int64_t>());
    state->exp_avg(average.to(item.value().device(), /*non_blocking=*/false, /*copy=*/true));
    state->exp_avg_sq(square.to(item.value().device(), /*non_blocking=*/false, /*copy=*/true));
    adamw_->state()[item.value().unsafeGetTensorImpl()] = std::move(state);
  }
  return Status::Ok();
}

}  // namespace interlacer
