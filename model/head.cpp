#include "model/head.h"

#include <ATen/Functions.h>

namespace interlacer {

DynamicsHead::DynamicsHead(const InterlacerConfig& config)
    : max_displacement_m_(config.network.max_displacement_m),
      position_norm_(
          register_module("position_norm", std::make_shared<LayerNorm>(config.network.width))),
      feature_norm_(
          register_module("feature_norm", std::make_shared<LayerNorm>(config.network.width))),
      position_(register_module(
          "position", std::make_shared<Dense>(config.network.width, 3, Precision::kNative))),
      feature_(register_module(
          "feature", std::make_shared<Dense>(config.network.width, config.encoder.feature_width,
                                             Precision::kNative))) {}

DynamicsHead::Change DynamicsHead::forward(const torch::Tensor& h) {
  return {max_displacement_m_ * at::tanh(position_->forward(position_norm_->forward(h))),
          feature_->forward(feature_norm_->forward(h))};
}

}  // namespace interlacer
