#include "model/training/weight_ema.h"

#include <torch/utils.h>

#include <algorithm>
#include <string>
#include <vector>

#include "model/network/world_model.h"

namespace interlacer {
namespace {

std::string KeyOf(const std::string& parameter) { return parameter + ".in_training"; }

}  // namespace

WeightEma::WeightEma(WorldModel* model, double decay) : model_(model), decay_(decay) {
  for (const torch::Tensor& weight : model->parameters()) held_.push_back(weight.detach().clone());
}

void WeightEma::Update(std::int64_t steps_done) {
  const torch::NoGradGuard no_grad;
  const double n = static_cast<double>(steps_done);
  const double decay = std::min(decay_, (n - 1) / (n + 9));
  const std::vector<torch::Tensor> weights = model_->parameters();
  for (std::size_t i = 0; i < held_.size(); ++i) held_[i].lerp_(weights[i], 1 - decay);
}

void WeightEma::Swap() {
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> weights = model_->parameters();
  for (std::size_t i = 0; i < held_.size(); ++i) {
    const torch::Tensor value = weights[i].clone();
    weights[i].copy_(held_[i]);
    held_[i].copy_(value);
  }
}

void WeightEma::Settle(const std::function<bool(const std::string&)>& settles) {
  const torch::NoGradGuard no_grad;
  std::size_t i = 0;
  for (auto& item : model_->named_parameters()) {
    if (settles(item.key())) item.value().copy_(held_[i]);
    ++i;
  }
}

NamedTensors WeightEma::State() const {
  NamedTensors tensors;
  std::size_t i = 0;
  for (const auto& item : model_->named_parameters()) tensors[KeyOf(item.key())] = held_[i++];
  return tensors;
}

Status WeightEma::LoadState(const NamedTensors& tensors) {
  const torch::NoGradGuard no_grad;
  std::size_t i = 0;
  for (const auto& item : model_->named_parameters()) {
    const auto found = tensors.find(KeyOf(item.key()));
    if (found == tensors.end() || found->second.sizes() != item.value().sizes()) {
      return FailedPrecondition(reason::CHECKPOINT_INVALID,
                                "expected the weights in training of " + item.key() +
                                    " in the parameter's shape, got " +
                                    (found == tensors.end() ? "none" : "another shape"));
    }
    held_[i++].copy_(found->second);
  }
  return Status::Ok();
}

}  // namespace interlacer
