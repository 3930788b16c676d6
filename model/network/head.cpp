#include "model/network/head.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include "model/cuda/backend.h"
#include "model/layers/fused_layers.h"

namespace interlacer {

DynamicsHead::DynamicsHead(const InterlacerConfig& config)
    : max_displacement_m_(config.network.max_displacement_m),
      min_displacement_m_(config.network.min_displacement_m),
      position_norm_(
          register_module("position_norm", std::make_shared<LayerNorm>(config.network.width))),
      feature_norm_(
          register_module("feature_norm", std::make_shared<LayerNorm>(config.network.width))),
      position_(register_module(
          "position", std::make_shared<Dense>(config.network.width, 3, Precision::kNative))),
      feature_(register_module(
          "feature", std::make_shared<Dense>(config.network.width, config.encoder.feature_width,
                                             Precision::kNative))) {
  if (!config.network.motion_gate) return;
  gate_ =
      register_module("gate", std::make_shared<Dense>(config.network.width, 1, Precision::kNative));
}

CloudTensors DynamicsHead::forward(const torch::Tensor& h, const LayerNorm& last_norm,
                                   const CloudTensors& cloud, const CloudOrder& order,
                                   const CudaBackend* cuda) {
  if (cuda != nullptr && CanFuseOnDevice(h, cloud, *cuda))
    return FusedOnDevice(*cuda, h, last_norm, cloud, order);
  const torch::Tensor y = last_norm.forward(h);
  const torch::Tensor of_position = position_norm_->forward(y);
  torch::Tensor displacement_m = max_displacement_m_ * at::tanh(position_->forward(of_position));
  torch::Tensor features = feature_->forward(feature_norm_->forward(y));
  if (gate_) {
    const torch::Tensor gate = at::sigmoid(gate_->forward(of_position));
    displacement_m = gate * displacement_m;
    features = gate * features;
  }
  displacement_m = displacement_m.index_select(0, order.place_of);
  CloudTensors next{cloud.positions_m + displacement_m,
                    cloud.features + features.index_select(0, order.place_of)};
  if (min_displacement_m_ > 0 && !at::GradMode::is_enabled()) {
    const torch::Tensor stays =
        displacement_m.square().sum(1, true).lt(min_displacement_m_ * min_displacement_m_);
    next.positions_m = at::where(stays, cloud.positions_m, next.positions_m);
  }
  return next;
}

bool DynamicsHead::CanFuseOnDevice(const torch::Tensor& h, const CloudTensors& cloud,
                                   const CudaBackend& cuda) const {
  const auto plain = [](const torch::Tensor& t) {
    return t.scalar_type() == at::kFloat && t.is_contiguous();
  };
  return !at::GradMode::is_enabled() && plain(h) && plain(cloud.positions_m) &&
         plain(cloud.features) && plain(position_->weight) && plain(feature_->weight) &&
         cuda.kernels.FitsDynamicsHead(static_cast<int>(h.size(1)));
}

CloudTensors DynamicsHead::FusedOnDevice(const CudaBackend& cuda, const torch::Tensor& h,
                                         const LayerNorm& last_norm, const CloudTensors& cloud,
                                         const CloudOrder& order) const {
  const CloudTensors next{at::empty_like(cloud.positions_m), at::empty_like(cloud.features)};
  cuda.Check(
      cuda.kernels.LaunchDynamicsHead(
          h.size(0), static_cast<int>(h.size(1)),
          {RowNormOf(last_norm), RowNormOf(*position_norm_),
           position_->weight.const_data_ptr<float>(), position_->bias.const_data_ptr<float>(),
           RowNormOf(*feature_norm_), feature_->weight.const_data_ptr<float>(),
           feature_->bias.const_data_ptr<float>(), static_cast<int>(cloud.features.size(1)),
           static_cast<float>(max_displacement_m_), static_cast<float>(min_displacement_m_),
           gate_ ? gate_->weight.const_data_ptr<float>() : nullptr,
           gate_ ? gate_->bias.const_data_ptr<float>() : nullptr},
          h.const_data_ptr<float>(),
          {order.particle_at.const_data_ptr<std::int64_t>(),
           cloud.positions_m.const_data_ptr<float>(), cloud.features.const_data_ptr<float>(),
           next.positions_m.mutable_data_ptr<float>(), next.features.mutable_data_ptr<float>()},
          cuda.stream_of(h)),
      "dynamics head");
  return next;
}

}  // namespace interlacer
