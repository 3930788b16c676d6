#include "model/limbs.h"

#include <ATen/Functions.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

namespace interlacer {
namespace {

/// Shorter segments have no direction.
constexpr double kShortestM = 1e-6;
/// Where rings begin at the first time: along no axis of the world, so that no limb is likely to
/// lie along it.
constexpr double kFirstNormal[3] = {0.36, 0.48, 0.80};

/// First and second body of every segment.
using Segments = std::pair<std::vector<std::int64_t>, std::vector<std::int64_t>>;

Segments SegmentsOf(const KinematicConfig& robot) {
  Segments segments;
  const auto add = [&](int from, int to) {
    segments.first.push_back(from);
    segments.second.push_back(to);
  };
  for (int arm = 0; arm < robot.arm_count; ++arm) {
    const int base = arm * robot.bodies_per_arm, gripper = base + robot.bodies_per_arm - 3;
    for (int body = base; body < gripper; ++body) add(body, body + 1);
    add(gripper, gripper + 1);
    add(gripper, gripper + 2);
  }
  return segments;
}

torch::Tensor Unit(const torch::Tensor& v) {
  return v / v.square().sum(-1, true).clamp_min(kShortestM * kShortestM).sqrt();
}

}  // namespace

LimbSurface::LimbSurface(const KinematicConfig& robot, const TokenConfig& tokens)
    : ring_count_(tokens.limb_rings) {
  const auto [start, end] = SegmentsOf(robot);
  start_ = register_buffer("start", at::tensor(start, at::kLong));
  end_ = register_buffer("end", at::tensor(end, at::kLong));
  const std::int64_t rings = tokens.limb_rings, points = tokens.limb_ring_points;
  body_ = register_buffer("body", start_.repeat_interleave(rings * points));
  share_ = register_buffer("share", (at::arange(rings, at::kFloat) + 0.5)
                                        .div(std::max<std::int64_t>(1, rings))
                                        .view({rings, 1, 1}));
  const torch::Tensor angle =
      (at::arange(points, at::kFloat) * (2 * std::numbers::pi / static_cast<double>(points)))
          .view({points, 1});
  cosine_ = register_buffer("cosine", tokens.limb_radius_m * at::cos(angle));
  sine_ = register_buffer("sine", tokens.limb_radius_m * at::sin(angle));
}

bool LimbSurface::IsBare(const torch::Tensor& of_bodies) const {
  return ring_count_ == 0 || of_bodies.size(1) == 0;
}

torch::Tensor LimbSurface::forward(const torch::Tensor& bodies_m) const {
  if (IsBare(bodies_m)) return bodies_m;
  const torch::Tensor from = bodies_m.index_select(1, start_);
  const torch::Tensor along = bodies_m.index_select(1, end_) - from;  // [times,segments,3]
  const torch::Tensor axis = Unit(along);
  // Filled where the bodies are: a copy from the host would wait for the device.
  torch::Tensor normal = at::empty({along.size(1), 3}, bodies_m.options().requires_grad(false));
  for (int c = 0; c < 3; ++c) normal.select(1, c).fill_(kFirstNormal[c]);
  std::vector<torch::Tensor> of_times;
  for (std::int64_t time = 0; time < bodies_m.size(0); ++time) {
    const torch::Tensor direction = axis[time];
    normal = Unit(normal - (normal * direction).sum(-1, true) * direction);
    const torch::Tensor side = at::linalg_cross(direction, normal);
    const torch::Tensor ring = cosine_ * normal.unsqueeze(1) + sine_ * side.unsqueeze(1);
    const torch::Tensor center =
        from[time].unsqueeze(1).unsqueeze(1) + share_ * along[time].unsqueeze(1).unsqueeze(1);
    of_times.push_back((center + ring.unsqueeze(1)).reshape({-1, 3}));
  }
  return at::stack(of_times);
}

torch::Tensor LimbSurface::OfBodies(const torch::Tensor& attributes) const {
  return IsBare(attributes) ? attributes : attributes.index_select(1, body_);
}

}  // namespace interlacer
