#include "data/sim/grasp_can.h"

#include <algorithm>
#include <numbers>
#include <optional>
#include <utility>

#include "common/transforms.h"
#include "data/sim/task_geometry.h"

namespace interlacer::sim {
namespace {

constexpr std::uint32_t kOneInLies = 4;  // of so many cans
constexpr int kTries = 64;

/// A can on its side, rolled by a quarter about a horizontal axis.
Transform Lying(const Vec3d& place_m, double yaw_rad, double radius_m) {
  const double sine_of_45_deg = std::numbers::sqrt2 / 2;
  const Transform turned{{}, {sine_of_45_deg, 0, 0, sine_of_45_deg}};
  return Compose({{place_m[0], place_m[1], radius_m}, YawQuaternion(yaw_rad)}, turned);
}

}  // namespace

GraspCan::GraspCan(const RobotSetup& robot, RandomSequence random, ColorSet colors)
    : robot_(robot),
      random_(random),
      colors_(colors),
      can_(DrawCanSize(random_)),
      tool_(robot.arm_count) {}

ToolTargets GraspCan::Prepare(Scene& scene) {
  const NamedColor& color = DrawColor(random_, ObjectColors(colors_));
  color_name_ = color.name;
  SceneObject can = MakeCan(can_, color.color, random_.Uniform(0.10, 0.25));
  const Vec3d place_m = {random_.Uniform(-kCanAreaHalfX, kCanAreaHalfX),
                         random_.Uniform(-kCanAreaHalfY, kCanAreaHalfY), can_.half_height_m};
  const double yaw_rad = random_.Uniform(-std::numbers::pi, std::numbers::pi);
  can.world_from_object = random_.Below(kOneInLies) == 0
                              ? Lying(place_m, yaw_rad, can_.radius_m)
                              : Transform{place_m, YawQuaternion(yaw_rad)};
  scene.objects.push_back(can);
  scene.has_grasps = true;
  for (int arm = 0; arm < robot_.arm_count; ++arm) tool_[arm] = DrawHover(robot_, random_, arm);
  return tool_;
}

bool GraspCan::Redraw(RandomSequence random) {
  random_ = random;
  return true;
}

ToolTargets GraspCan::Next(const std::vector<Transform>& world_from_object) {
  for (int attempt = 0; motion_.path.Done() && attempt < kTries; ++attempt) {
    std::optional<ArmPath> drawn =
        DrawGraspOrCarry(robot_, can_, world_from_object.front().translation_m, tool_, random_);
    if (!drawn) continue;
    motion_ = *std::move(drawn);
    has_moved_ = true;
  }
  if (!motion_.path.Done()) tool_[motion_.arm] = motion_.path.Pop();
  return tool_;
}

bool GraspCan::Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const {
  return has_moved_ && std::all_of(poses_of_step.begin(), poses_of_step.end(),
                                   [](const auto& poses) { return WithinTheTable(poses.front()); });
}

}  // namespace interlacer::sim
