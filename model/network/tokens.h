#pragma once

/// Turns particles and robot points into tokens, the input of the Interlacer.
///
/// Order of the T tokens: visual t-2, visual t-1, kinematic t-2, t-1, t. The kinematic ones are
/// points on the robot's surface: nothing depends on which robot it is.
///   visual     [f, robot motion (4), p, Fourier(p), time one-hot (2)]       -> dense -> d
///   kinematic  [attributes (7), p, Fourier(p), time one-hot (3)]            -> dense -> d
/// p = (position - box centre) / largest half extent; Fourier is sin and cos of 2^l pi p.
/// Differentiable in positions, features and weights. Threads: as torch modules. Deviations of
/// ours: Fourier features, the motion of attached particles as an input, and where on the robot
/// kinematic particles lie, which the papers do not say. Source: hd-vpd.

#include <torch/nn/module.h>

#include <memory>

#include "model/clouds.h"
#include "model/config.h"
#include "model/layers/layers.h"

namespace interlacer {

/// Positional encoding [n,6 octaves]: for every octave sin of x, y, z, then cos.
torch::Tensor FourierFeatures(const torch::Tensor& normalized, int octaves);

/// Attributes [3,p,7] of the robot's points: gripper flag, displacement to the next time x
/// displacement_scale (zero at t), normal.
torch::Tensor KinematicAttributes(const StepInput& input, double displacement_scale);
inline constexpr int kKinematicAttributeWidth = 7;

/// A cloud whose features go on with `motion` [n,kRobotMotionWidth] (SurfaceInput): whether the
/// particle belongs to the robot, and its displacement to the next time x displacement_scale.
CloudTensors WithRobotMotion(const CloudTensors& cloud, const torch::Tensor& motion,
                             double displacement_scale);

/// The guess of SurfaceInput, zero for particles of the robot. [n,3]
torch::Tensor ContactGuessOf(const SurfaceInput& surface);

/// Number of times at which a step sees the particles.
inline constexpr int kVisualTimes = 2;

/// Features of a particle's own motion with the robot (WithRobotMotion).
inline constexpr int kRobotMotionWidth = 4;

/// Width of the clouds' features that the token layers see: the encoder's, followed by the motion
/// of attached particles (WithRobotMotion).
int VisualFeatureWidth(const InterlacerConfig& config);

/// Positions and counts of the tokens.
TokenSet CountTokens(const StepInput& input);

class TokenEncoder : public torch::nn::Module {
 public:
  struct Layers {
    std::shared_ptr<Dense> visual, kinematic;
  };

  explicit TokenEncoder(const InterlacerConfig& config);
  /// The clouds are those of WithRobotMotion.
  TokenSet forward(const StepInput& input);

  const InterlacerConfig& config() const { return config_; }
  const Layers& layers() const { return layers_; }

 private:
  torch::Tensor PositionFeatures(const torch::Tensor& positions_m, const Box& workspace) const;
  torch::Tensor VisualInput(const StepInput& input, int time) const;
  torch::Tensor KinematicInput(const StepInput& input) const;

  InterlacerConfig config_;
  Layers layers_;
};

}  // namespace interlacer
