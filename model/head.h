#pragma once

/// From the newer cloud's tokens to its change in one step.
///
///   h [n,d]  ->  displacement [n,3] in +-max_displacement_m, feature change [n,feature_width]
/// Each: layer norm, dense; the displacement is max tanh(.). The dense layers start at zero, so an
/// untrained step changes nothing. Threads: as torch modules.
/// Source: GRF masking paper, App. C.3 (0.25 m, scaled tanh).

#include <torch/nn/module.h>

#include <memory>

#include "model/config.h"
#include "model/layers.h"

namespace interlacer {

class DynamicsHead : public torch::nn::Module {
 public:
  explicit DynamicsHead(const InterlacerConfig& config);
  struct Change {
    torch::Tensor displacement_m;
    torch::Tensor features;
  };
  Change forward(const torch::Tensor& h);

 private:
  double max_displacement_m_;
  std::shared_ptr<LayerNorm> position_norm_, feature_norm_;
  std::shared_ptr<Dense> position_, feature_;
};

}  // namespace interlacer
