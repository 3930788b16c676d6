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

int VisualInputWidth(const InterlacerConfig& c) {
  return VisualFeatureWidth(c) + 3 + 6 * c.tokens.fourier_octaves + kVisualTimes;
}

int KinematicInputWidth(const InterlacerConfig& c) {
  return kKinematicAttributeWidth + 3 + 6 * c.tokens.fourier_octaves + kKinematicTimes;
}

/// Displacement to the same point at the next time; zero at the last time. [3,p,3]
torch::Tensor Displacements(const torch::Tensor& points_m) {
  const std::int64_t known = kKinematicTimes - 1;
  return at::cat({points_m.narrow(0, 1, known) - points_m.narrow(0, 0, known),
                  at::zeros({1, points_m.size(1), 3}, points_m.options())},
                 0);
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
  return config.encoder.feature_width + kRobotMotionWidth;
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

torch::Tensor KinematicAttributes(const StepInput& input, double displacement_scale) {
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

torch::Tensor ContactGuessOf(const SurfaceInput& surface) {
  const torch::Tensor& motion = surface.newer_motion;
  return (1 - motion.narrow(1, 0, 1)) * motion.narrow(1, 1, 3);
}

TokenEncoder::TokenEncoder(const InterlacerConfig& config) : config_(config) {
  const auto dense = [&](const char* name, int in_width) {
    return register_module(
        name, std::make_shared<Dense>(in_width, config.network.width, Precision::kNative));
  };
  layers_.visual = dense("visual", VisualInputWidth(config));
  layers_.kinematic = dense("kinematic", KinematicInputWidth(config));
}

torch::Tensor TokenEncoder::PositionFeatures(const torch::Tensor& positions_m,
                                             const Box& workspace) const {
  const torch::Tensor p = Normalize(positions_m, workspace);
  return at::cat({p, FourierFeatures(p, config_.tokens.fourier_octaves)}, 1);
}

torch::Tensor TokenEncoder::VisualInput(const StepInput& input, int time) const {
  const CloudTensors& cloud = time == 0 ? input.older : input.newer;
  const torch::Tensor& positions = cloud.positions_m;
  return at::cat(
      {cloud.features, PositionFeatures(positions, input.workspace),
       TimeOneHot(positions.size(0), time, kVisualTimes, positions.options().requires_grad(false))},
      1);
}

torch::Tensor TokenEncoder::KinematicInput(const StepInput& input) const {
  const torch::Tensor attributes = KinematicAttributes(input, config_.tokens.displacement_scale);
  std::vector<torch::Tensor> rows;
  for (int time = 0; time < kKinematicTimes; ++time) {
    const torch::Tensor points = input.kinematic_points_m.select(0, time);
    rows.push_back(at::cat({attributes.select(0, time), PositionFeatures(points, input.workspace),
                            TimeOneHot(points.size(0), time, kKinematicTimes, points.options())},
                           1));
  }
  return at::cat(rows, 0);
}

TokenSet CountTokens(const StepInput& input) {
  const torch::Tensor& points_m = input.kinematic_points_m;
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
  TokenSet tokens = CountTokens(input);
  // Both times share one product of the dense layer.
  std::vector<torch::Tensor> h{
      layers_.visual->forward(at::cat({VisualInput(input, 0), VisualInput(input, 1)}, 0))};
  if (tokens.kinematic_count > 0) {
    h.push_back(layers_.kinematic->forward(KinematicInput(input)));
  }
  tokens.h = at::cat(h, 0);
  return tokens;
}

}  // namespace interlacer
