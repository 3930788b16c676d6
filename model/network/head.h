#pragma once

/// Output heads: from the newer cloud's tokens to the cloud one step later.
///
///   h [n,d]  ->  displacement [n,3] in +-max_displacement_m, feature change [n,feature_width]
/// Each head: the network's last norm, layer norm, dense; the displacement is max tanh(.). With
/// network.motion_gate both are multiplied by g = sigmoid(.) of the displacement's normed rows.
/// With network.contact_guess a particle is displaced by the mean of that and of the guess, whose
/// weight is sigmoid(.) of the same rows. In inference displacements below
/// network.min_displacement_m are zero, and such particles keep the bits of their positions. The
/// dense layers start at zero and the gate's bias at kClosedGate, so that an untrained step changes
/// next to nothing except by half of a guess. All in float32. Threads: as torch modules.
/// Source: grf-masking, App. C.3 (0.25 m, scaled tanh). The gate, the guess and the dead zone are
/// ours.

#include <torch/nn/module.h>

#include <memory>
#include <string_view>

#include "model/config.h"
#include "model/graph/cloud_order.h"
#include "model/layers/layers.h"

namespace interlacer {

/// Bias with which the gate starts: less than two in a hundred of a displacement pass.
inline constexpr double kClosedGate = -4;

/// Parameters of the weight of the guess begin so.
inline constexpr std::string_view kTrustPrefix = "head.trust.";

class DynamicsHead : public torch::nn::Module {
 public:
  struct Layers {
    std::shared_ptr<LayerNorm> position_norm, feature_norm;
    std::shared_ptr<Dense> position, feature;
    std::shared_ptr<Dense> gate;   ///< null without a gate
    std::shared_ptr<Dense> trust;  ///< in the guess; null without one
  };

  explicit DynamicsHead(const InterlacerConfig& config);
  /// `h` [n,d] has one row for each particle of `cloud`, in `order`. `guess_m` [n,3], in the order
  /// of the cloud, is read where the configuration has a guess.
  CloudTensors forward(const torch::Tensor& h, const LayerNorm& last_norm,
                       const CloudTensors& cloud, const CloudOrder& order,
                       const torch::Tensor& guess_m);

  const Layers& layers() const { return layers_; }
  double max_displacement_m() const { return max_displacement_m_; }
  double min_displacement_m() const { return min_displacement_m_; }

 private:
  double max_displacement_m_, min_displacement_m_;
  Layers layers_;
};

}  // namespace interlacer
