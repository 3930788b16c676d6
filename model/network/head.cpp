#include "model/network/head.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

namespace interlacer {

DynamicsHead::DynamicsHead(const InterlacerConfig& config)
    : max_displacement_m_(config.network.max_displacement_m),
      min_displacement_m_(config.network.min_displacement_m) {
  const int width = config.network.width;
  const auto norm = [&](const char* name) {
    return register_module(name, std::make_shared<LayerNorm>(width));
  };
  const auto dense = [&](const char* name, int out_width) {
    return register_module(name, std::make_shared<Dense>(width, out_width, Precision::kNative));
  };
  layers_.position_norm = norm("position_norm");
  layers_.feature_norm = norm("feature_norm");
  layers_.position = dense("position", 3);
  layers_.feature = dense("feature", config.encoder.feature_width);
  if (config.network.motion_gate) layers_.gate = dense("gate", 1);
  if (config.network.contact_guess) layers_.trust = dense("trust", 1);
}

CloudTensors DynamicsHead::forward(const torch::Tensor& h, const LayerNorm& last_norm,
                                   const CloudTensors& cloud, const CloudOrder& order,
                                   const torch::Tensor& guess_m) {
  const torch::Tensor y = last_norm.forward(h);
  const torch::Tensor of_position = layers_.position_norm->forward(y);
  torch::Tensor displacement_m =
      max_displacement_m_ * at::tanh(layers_.position->forward(of_position));
  torch::Tensor features = layers_.feature->forward(layers_.feature_norm->forward(y));
  if (layers_.gate) {
    const torch::Tensor gate = at::sigmoid(layers_.gate->forward(of_position));
    displacement_m = gate * displacement_m;
    features = gate * features;
  }
  displacement_m = displacement_m.index_select(0, order.place_of);
  if (layers_.trust) {
    const torch::Tensor trust =
        at::sigmoid(layers_.trust->forward(of_position)).index_select(0, order.place_of);
    displacement_m = displacement_m + trust * (guess_m - displacement_m);
  }
  CloudTensors next{cloud.positions_m + displacement_m,
                    cloud.features + features.index_select(0, order.place_of)};
  if (min_displacement_m_ > 0 && !at::GradMode::is_enabled()) {
    const torch::Tensor stays =
        displacement_m.square().sum(1, true).lt(min_displacement_m_ * min_displacement_m_);
    next.positions_m = at::where(stays, cloud.positions_m, next.positions_m);
  }
  return next;
}

}  // namespace interlacer
