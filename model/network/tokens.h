#pragma once

/// Turns particles and robot points into tokens, the input of the Interlacer.
///
/// Order of the T tokens: visual t-2, visual t-1, kinematic t-2, t-1, t. The kinematic ones are the
/// points of model/network/limbs.h, or, by tokens.robot, points on the robot's surface, with which
/// nothing depends on which robot it is.
///   visual     [f, p, Fourier(p), time one-hot (2), kinematic context]      -> dense -> d
///   kinematic  [p, Fourier(p), time one-hot (3), attributes]                -> dense -> d
/// and with surface points
///   visual     [f, robot motion (4), p, Fourier(p), time one-hot (2)]       -> dense -> d
///   kinematic  [attributes (7), p, Fourier(p), time one-hot (3)]            -> dense -> d
/// p = (position - box centre) / largest half extent; Fourier is sin and cos of 2^l pi p.
/// Differentiable in positions, features and weights. Threads: as torch modules. Deviations of
/// ours: Fourier features, the kinematic context, points on the limbs' surface, and as an attribute
/// the bend angle of the points where the paper could give a joint's value. Source: hd-vpd.

#include <torch/nn/module.h>

#include <memory>

#include "model/clouds.h"
#include "model/config.h"
#include "model/layers/layers.h"
#include "model/network/limbs.h"

namespace interlacer {

/// Positional encoding [n,6 octaves]: for every octave sin of x, y, z, then cos.
torch::Tensor FourierFeatures(const torch::Tensor& normalized, int octaves);

/// Attributes [3,p,attribute_width] of points [3,p,3]: arm and body one-hot, bend angle / pi of the
/// chain at the body, gripper opening in [0,1] (fingers and gripper), displacement to the next time
/// x displacement_scale (zero at t). All follow from points, so that joints and points give equal
/// tokens.
torch::Tensor KinematicAttributes(const torch::Tensor& points_m, const KinematicConfig& config,
                                  double displacement_scale);

/// Kinematic context [n,4 * bandwidths]: for every bandwidth s sum(w u) / (sum(w) + 0.1) x
/// displacement_scale, the mean displacement u of the kinematic points around a position, zero far
/// from all of them, and log(sum(w) + 1e-6) / 10; w = exp(-|x - y|^2 / (2 s^2)).
///   positions_m [n,3]   points_m [p,3] at the same time   displacements_m [p,3] to the next time
torch::Tensor KinematicContext(const torch::Tensor& positions_m, const torch::Tensor& points_m,
                               const torch::Tensor& displacements_m,
                               const std::vector<float>& bandwidths_m, double displacement_scale);

/// Attributes [3,p,7] of surface points: gripper flag, displacement to the next time x
/// displacement_scale (zero at t), normal.
torch::Tensor SurfaceAttributes(const StepInput& input, double displacement_scale);
inline constexpr int kSurfaceAttributeWidth = 7;

/// A cloud whose features go on with `motion` [n,kRobotMotionWidth] (SurfaceInput): whether the
/// particle belongs to the robot, and its displacement to the next time x displacement_scale.
CloudTensors WithRobotMotion(const CloudTensors& cloud, const torch::Tensor& motion,
                             double displacement_scale);

/// Number of times at which a step sees the particles.
inline constexpr int kVisualTimes = 2;

/// Softening of the kinematic context: far from the robot the mean displacement fades to zero
/// instead of following the nearest point.
inline constexpr double kContextSoftening = 0.1;
inline constexpr double kContextMassFloor = 1e-6;
inline constexpr double kContextLogScale = 0.1;

/// Features of a particle's own motion with the robot (WithRobotMotion).
inline constexpr int kRobotMotionWidth = 4;

/// Width of the clouds' features that the token layers see: the encoder's, with surface points
/// followed by the motion of attached particles (WithRobotMotion).
int VisualFeatureWidth(const InterlacerConfig& config);

/// Positions and counts of the tokens; `points_m` [3,q,3] are the positions of kinematic tokens.
TokenSet CountTokens(const StepInput& input, const torch::Tensor& points_m);

class TokenEncoder : public torch::nn::Module {
 public:
  struct Layers {
    std::shared_ptr<Dense> visual, kinematic;
    std::shared_ptr<LimbSurface> limbs;  ///< null with surface points
  };

  explicit TokenEncoder(const InterlacerConfig& config);
  /// With surface points the clouds are those of WithRobotMotion.
  TokenSet forward(const StepInput& input);

  const InterlacerConfig& config() const { return config_; }
  const Layers& layers() const { return layers_; }
  /// Of the kinematic context, on the model's device.
  const torch::Tensor& bandwidths_m() const { return bandwidths_m_; }

 private:
  torch::Tensor PositionFeatures(const torch::Tensor& positions_m, const Box& workspace) const;
  torch::Tensor VisualInput(const StepInput& input, int time) const;
  torch::Tensor KinematicInput(const StepInput& input, const torch::Tensor& points_m) const;
  torch::Tensor SurfaceRows(const StepInput& input) const;

  InterlacerConfig config_;
  Layers layers_;
  torch::Tensor bandwidths_m_;
};

}  // namespace interlacer
