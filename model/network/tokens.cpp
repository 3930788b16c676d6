#include "model/network/tokens.h"

#include <ATen/Functions.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "common/transforms.h"

namespace interlacer {
namespace {

torch::Tensor TimeOneHot(std::int64_t count, int time, int times, const at::TensorOptions& like) {
  torch::Tensor one_hot = at::zeros({count, times}, like);
  one_hot.select(1, time).fill_(1);
  return one_hot;
}

bool HasSurfacePoints(const InterlacerConfig& c) {
  return c.tokens.robot == RobotTokens::kSurfacePoints;
}

int VisualInputWidth(const InterlacerConfig& c) {
  const int context = c.tokens.kinematic_context
                          ? 4 * static_cast<int>(c.tokens.kinematic_context_bandwidths_m.size())
                          : 0;
  return VisualFeatureWidth(c) + 3 + 6 * c.tokens.fourier_octaves + kVisualTimes + context;
}

int KinematicInputWidth(const InterlacerConfig& c) {
  const int attributes =
      HasSurfacePoints(c) ? kSurfaceAttributeWidth : c.kinematics.attribute_width();
  return 3 + 6 * c.tokens.fourier_octaves + kKinematicTimes + attributes;
}

/// Angle between the incoming and the outgoing segment at each body of each arm; 0 at both ends and
/// at the fingers. points [3,arms,bodies,3] -> [3,arms,bodies,1], in units of pi.
torch::Tensor BendAngles(const torch::Tensor& points) {
  const std::int64_t chain = points.size(2) - 2;  // links and gripper; the two fingers branch off
  torch::Tensor angles =
      at::zeros({points.size(0), points.size(1), points.size(2), 1}, points.options());
  if (chain < 3) return angles;
  const torch::Tensor segments = points.narrow(2, 1, chain - 1) - points.narrow(2, 0, chain - 1);
  const torch::Tensor in = segments.narrow(2, 0, chain - 2);
  const torch::Tensor out = segments.narrow(2, 1, chain - 2);
  const torch::Tensor sine = at::linalg_cross(in, out).norm(2, {-1}, true);
  const torch::Tensor cosine = (in * out).sum(-1, true);
  angles.narrow(2, 1, chain - 2).copy_(at::atan2(sine, cosine) / std::numbers::pi);
  return angles;
}

/// Distance of the two finger tips relative to its largest value, at gripper and fingers.
torch::Tensor GripperOpenings(const torch::Tensor& points, double span_m) {
  const std::int64_t bodies = points.size(2);
  torch::Tensor openings = at::zeros({points.size(0), points.size(1), bodies, 1}, points.options());
  const torch::Tensor tips = points.narrow(2, bodies - 2, 2);
  const torch::Tensor distance =
      (tips.select(2, 0) - tips.select(2, 1)).norm(2, {-1}, true).unsqueeze(2);
  openings.narrow(2, bodies - 3, 3).copy_((distance / span_m).clamp(0, 1).expand({-1, -1, 3, -1}));
  return openings;
}

/// Displacement to the same body at the next time; zero at the last time. [3,p,3]
torch::Tensor Displacements(const torch::Tensor& points_m) {
  torch::Tensor displacements = at::zeros_like(points_m);
  displacements.narrow(0, 0, kKinematicTimes - 1)
      .copy_(points_m.narrow(0, 1, kKinematicTimes - 1) -
             points_m.narrow(0, 0, kKinematicTimes - 1));
  return displacements;
}

torch::Tensor Normalize(const torch::Tensor& positions_m, const Box& workspace) {
  const Vec3d center = BoxCenter(workspace);
  // Filled on the device of the positions: a copy from the host would wait.
  const auto options = positions_m.options().requires_grad(false);
  const torch::Tensor offset =
      at::stack({at::scalar_tensor(center[0], options), at::scalar_tensor(center[1], options),
                 at::scalar_tensor(center[2], options)});
  return (positions_m - offset) / LargestHalfExtent(workspace);
}

}  // namespace

int VisualFeatureWidth(const InterlacerConfig& config) {
  return config.encoder.feature_width + (HasSurfacePoints(config) ? kRobotMotionWidth : 0);
}

torch::Tensor FourierFeatures(const torch::Tensor& normalized, int octaves) {
  std::vector<torch::Tensor> parts;
  for (int octave = 0; octave < octaves; ++octave) {
    const torch::Tensor angle = normalized * std::ldexp(std::numbers::pi, octave);
    parts.push_back(at::sin(angle));
    parts.push_back(at::cos(angle));
  }
  return at::cat(parts, 1);
}

torch::Tensor KinematicAttributes(const torch::Tensor& points_m, const KinematicConfig& config,
                                  double displacement_scale) {
  const std::int64_t arms = config.arm_count, bodies = config.bodies_per_arm;
  const torch::Tensor points = points_m.reshape({kKinematicTimes, arms, bodies, 3});
  const auto options = points_m.options();
  const torch::Tensor arm =
      at::eye(arms, options).reshape({1, arms, 1, arms}).expand({kKinematicTimes, -1, bodies, -1});
  const torch::Tensor body = at::eye(bodies, options)
                                 .reshape({1, 1, bodies, bodies})
                                 .expand({kKinematicTimes, arms, -1, -1});
  const torch::Tensor displacement =
      displacement_scale * Displacements(points_m).reshape({kKinematicTimes, arms, bodies, 3});
  return at::cat({arm, body, BendAngles(points), GripperOpenings(points, config.finger_span_m),
                  displacement},
                 3)
      .reshape({kKinematicTimes, arms * bodies, config.attribute_width()});
}

torch::Tensor KinematicContext(const torch::Tensor& positions_m, const torch::Tensor& points_m,
                               const torch::Tensor& displacements_m,
                               const std::vector<float>& bandwidths_m, double displacement_scale) {
  const torch::Tensor sq_dist_m2 =
      (positions_m.unsqueeze(1) - points_m.unsqueeze(0)).square().sum(-1);
  std::vector<torch::Tensor> parts;
  for (const float bandwidth_m : bandwidths_m) {
    const torch::Tensor weights = at::exp(sq_dist_m2 / (-2.0 * bandwidth_m * bandwidth_m));
    const torch::Tensor mass = weights.sum(1, true);
    // Far from the robot `mass` vanishes and the softening takes the mean displacement to zero.
    parts.push_back(displacement_scale * at::matmul(weights, displacements_m) /
                    (mass + kContextSoftening));
    parts.push_back(kContextLogScale * at::log(mass + kContextMassFloor));
  }
  return at::cat(parts, 1);
}

torch::Tensor SurfaceAttributes(const StepInput& input, double displacement_scale) {
  const torch::Tensor& points_m = input.kinematic_points_m;
  return at::cat({input.surface.is_gripper.reshape({1, -1, 1}).expand({kKinematicTimes, -1, 1}),
                  displacement_scale * Displacements(points_m), input.surface.normals},
                 2);
}

CloudTensors WithRobotMotion(const CloudTensors& cloud, const torch::Tensor& motion,
                             double displacement_scale) {
  const torch::Tensor features = at::cat({cloud.features, motion}, 1);
  features.narrow(1, cloud.features.size(1) + 1, 3).mul_(displacement_scale);
  return {cloud.positions_m, features};
}

TokenEncoder::TokenEncoder(const InterlacerConfig& config) : config_(config) {
  const auto dense = [&](const char* name, int in_width) {
    return register_module(
        name, std::make_shared<Dense>(in_width, config.network.width, Precision::kNative));
  };
  layers_.visual = dense("visual", VisualInputWidth(config));
  layers_.kinematic = dense("kinematic", KinematicInputWidth(config));
  bandwidths_m_ = register_buffer(
      "bandwidths_m", at::tensor(config.tokens.kinematic_context_bandwidths_m, at::kFloat));
  if (HasSurfacePoints(config)) return;
  layers_.limbs =
      register_module("limbs", std::make_shared<LimbSurface>(config.kinematics, config.tokens));
}

torch::Tensor TokenEncoder::PositionFeatures(const torch::Tensor& positions_m,
                                             const Box& workspace) const {
  const torch::Tensor p = Normalize(positions_m, workspace);
  return at::cat({p, FourierFeatures(p, config_.tokens.fourier_octaves)}, 1);
}

torch::Tensor TokenEncoder::VisualInput(const StepInput& input, int time) const {
  const CloudTensors& cloud = time == 0 ? input.older : input.newer;
  const torch::Tensor& positions = cloud.positions_m;
  std::vector<torch::Tensor> parts{
      cloud.features, PositionFeatures(positions, input.workspace),
      TimeOneHot(positions.size(0), time, kVisualTimes, positions.options().requires_grad(false))};
  if (config_.tokens.kinematic_context) {
    // Motion to the next time: known for both times, because the robot's points at t are an input.
    const torch::Tensor points = input.kinematic_points_m.select(0, time);
    parts.push_back(KinematicContext(
        positions, points, input.kinematic_points_m.select(0, time + 1) - points,
        config_.tokens.kinematic_context_bandwidths_m, config_.tokens.displacement_scale));
  }
  return at::cat(parts, 1);
}

torch::Tensor TokenEncoder::KinematicInput(const StepInput& input,
                                           const torch::Tensor& points_m) const {
  const double scale = config_.tokens.displacement_scale;
  const torch::Tensor of_bodies =
      KinematicAttributes(input.kinematic_points_m, config_.kinematics, scale);
  // The displacement, the last attribute, is the point's own.
  const torch::Tensor attributes =
      at::cat({layers_.limbs->OfBodies(of_bodies.narrow(2, 0, of_bodies.size(2) - 3)),
               scale * Displacements(points_m)},
              2);
  std::vector<torch::Tensor> rows;
  for (int time = 0; time < kKinematicTimes; ++time) {
    const torch::Tensor points = points_m.select(0, time);
    rows.push_back(at::cat({PositionFeatures(points, input.workspace),
                            TimeOneHot(points.size(0), time, kKinematicTimes, points.options()),
                            attributes.select(0, time)},
                           1));
  }
  return at::cat(rows, 0);
}

torch::Tensor TokenEncoder::SurfaceRows(const StepInput& input) const {
  const torch::Tensor attributes = SurfaceAttributes(input, config_.tokens.displacement_scale);
  std::vector<torch::Tensor> rows;
  for (int time = 0; time < kKinematicTimes; ++time) {
    const torch::Tensor points = input.kinematic_points_m.select(0, time);
    rows.push_back(at::cat({attributes.select(0, time), PositionFeatures(points, input.workspace),
                            TimeOneHot(points.size(0), time, kKinematicTimes, points.options())},
                           1));
  }
  return at::cat(rows, 0);
}

TokenSet CountTokens(const StepInput& input, const torch::Tensor& points_m) {
  TokenSet tokens;
  tokens.older_count = input.older.positions_m.size(0);
  tokens.newer_count = input.newer.positions_m.size(0);
  tokens.kinematic_count = points_m.size(1);
  tokens.workspace = input.workspace;
  tokens.positions_m =
      at::cat({input.older.positions_m, input.newer.positions_m, points_m.reshape({-1, 3})}, 0);
  return tokens;
}

TokenSet TokenEncoder::forward(const StepInput& input) {
  const torch::Tensor points_m =
      layers_.limbs ? layers_.limbs->forward(input.kinematic_points_m) : input.kinematic_points_m;
  TokenSet tokens = CountTokens(input, points_m);
  // Both times share one product of the dense layer.
  std::vector<torch::Tensor> h{
      layers_.visual->forward(at::cat({VisualInput(input, 0), VisualInput(input, 1)}, 0))};
  if (tokens.kinematic_count > 0) {
    h.push_back(layers_.kinematic->forward(layers_.limbs ? KinematicInput(input, points_m)
                                                         : SurfaceRows(input)));
  }
  tokens.h = at::cat(h, 0);
  return tokens;
}

}  // namespace interlacer
