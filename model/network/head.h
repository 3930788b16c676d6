#pragma once

/// Output heads: from the newer cloud's tokens to the cloud one step later.
///
///   h [n,d]  ->  displacement [n,3] in +-max_displacement_m, feature change [n,feature_width]
/// Each head: the network's last norm, layer norm, dense; the displacement is max tanh(.). The
/// dense layers start at zero, so that an untrained step changes nothing. All in float32; on a
/// device without gradients a single launch (model/kernels/dynamics_head_cuda.h) for the widths
/// that it supports. Threads: as torch modules.
/// Source: grf-masking, App. C.3 (0.25 m, scaled tanh).

#include <torch/nn/module.h>

#include <memory>

#include "model/config.h"
#include "model/layers/layers.h"
#include "model/network/cloud_order.h"

namespace interlacer {

class DynamicsHead : public torch::nn::Module {
 public:
  explicit DynamicsHead(const InterlacerConfig& config);
  /// `h` [n,d] has one row for each particle of `cloud`, in `order`.
  CloudTensors forward(const torch::Tensor& h, const LayerNorm& last_norm,
                       const CloudTensors& cloud, const CloudOrder& order);

 private:
  bool CanFuseOnDevice(const torch::Tensor& h, const CloudTensors& cloud) const;
  CloudTensors FusedOnDevice(const torch::Tensor& h, const LayerNorm& last_norm,
                             const CloudTensors& cloud, const CloudOrder& order) const;

  double max_displacement_m_;
  std::shared_ptr<LayerNorm> position_norm_, feature_norm_;
  std::shared_ptr<Dense> position_, feature_;
};

}  // namespace interlacer
