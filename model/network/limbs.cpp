#include "model/network/limbs.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cstdint>
#include <numbers>
#include <vector>

namespace interlacer {
namespace {

/// Shorter segments have no direction.
constexpr double kShortestM = 1e-6;
/// Direction in which rings of the first time start: along no axis of the world, so that limbs are
/// unlikely to be parallel to it.
constexpr double kFirstNormal[3] = {0.36, 0.48, 0.80};

torch::Tensor Unit(const torch::Tensor& v) {
  return v / v.square().sum(-1, true).clamp_min(kShortestM * kShortestM).sqrt();
}

}  // namespace

LimbSurface::LimbSurface(const KinematicConfig& robot, const TokenConfig& tokens)
    : arm_count_(robot.arm_count),
      bodies_per_arm_(robot.bodies_per_arm),
      ring_count_(tokens.limb_rings),
      ring_points_(tokens.limb_ring_points) {
  const int rings = std::max(1, ring_count_);
  share_ =
      register_buffer("share", ((at::arange(rings, at::kFloat) + 0.5) / rings).view({rings, 1, 1}));
  const torch::Tensor angle =
      (at::arange(ring_points_, at::kFloat) * (2 * std::numbers::pi / ring_points_))
          .view({ring_points_, 1});
  cosine_ = register_buffer("cosine", tokens.limb_radius_m * at::cos(angle));
  sine_ = register_buffer("sine", tokens.limb_radius_m * at::sin(angle));
}

bool LimbSurface::IsBare(const torch::Tensor& of_bodies) const {
  return ring_count_ == 0 || of_bodies.size(1) == 0;
}

torch::Tensor LimbSurface::ByArm(const torch::Tensor& of_bodies) const {
  return of_bodies.reshape({of_bodies.size(0), arm_count_, bodies_per_arm_, of_bodies.size(2)});
}

torch::Tensor LimbSurface::Begins(const torch::Tensor& of_bodies) const {
  const torch::Tensor by_arm = ByArm(of_bodies);
  const std::int64_t gripper = bodies_per_arm_ - 3;
  return at::cat({by_arm.narrow(2, 0, gripper + 1), by_arm.narrow(2, gripper, 1)}, 2).flatten(1, 2);
}

torch::Tensor LimbSurface::forward(const torch::Tensor& bodies_m) const {
  if (IsBare(bodies_m)) return bodies_m;
  const torch::Tensor from = Begins(bodies_m);  // [times,segments,3]
  const torch::Tensor along =
      ByArm(bodies_m).narrow(2, 1, bodies_per_arm_ - 1).flatten(1, 2) - from;
  const torch::Tensor axis = Unit(along);
  // Filled on the device of the bodies: a copy from the host would wait.
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
  if (IsBare(attributes)) return attributes;
  return Begins(attributes)
      .unsqueeze(2)
      .expand({-1, -1, ring_count_ * ring_points_, -1})
      .flatten(1, 2);
}

LimbRings LimbSurface::Rings() const {
  LimbRings rings{ring_count_, ring_points_, share_.const_data_ptr<float>(),
                  cosine_.const_data_ptr<float>(), sine_.const_data_ptr<float>()};
  for (int c = 0; c < 3; ++c) rings.first_normal[c] = static_cast<float>(kFirstNormal[c]);
  rings.shortest_m = static_cast<float>(kShortestM);
  return rings;
}

}  // namespace interlacer
