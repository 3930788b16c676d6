#include "data/sim/task_geometry.h"

#include <cmath>
#include <numbers>

#include "data/sim/scene.h"

namespace interlacer::sim {
namespace {

// How far beyond the middle an arm works that is not alone.
constexpr double kMaxBeyondMiddleM = 0.08;

// Where an arm without work moves about: polar coordinates about its base.
constexpr double kMaxHoverBearingRad = 0.6;
constexpr double kMinHoverHeightM = 0.15;
constexpr double kMaxHoverHeightM = 0.30;
constexpr double kMaxHoverYawRad = 0.8;

}  // namespace

double SideOf(int arm) { return arm == 0 ? -1 : 1; }

bool InReach(const RobotSetup& robot, int arm, const Vec3d& tool_m) {
  const Vec3d base_m = WorldFromBase(*robot.model, arm).translation_m;
  const double reach_m = std::hypot(tool_m[0] - base_m[0], tool_m[1] - base_m[1]);
  return reach_m > robot.model->min_reach_m && reach_m < robot.model->max_reach_m &&
         (robot.arm_count == 1 || -SideOf(arm) * tool_m[0] < kMaxBeyondMiddleM);
}

ToolTarget DrawHover(const RobotSetup& robot, RandomSequence& random, int arm) {
  const ArmModel& model = *robot.model;
  const double reach_m = random.Uniform(model.min_reach_m, model.max_hover_reach_m);
  const double bearing_rad = random.Uniform(-kMaxHoverBearingRad, kMaxHoverBearingRad);
  const Vec3d base_m = WorldFromBase(model, arm).translation_m;
  return {{base_m[0] - SideOf(arm) * reach_m * std::cos(bearing_rad),
           reach_m * std::sin(bearing_rad), random.Uniform(kMinHoverHeightM, kMaxHoverHeightM)},
          random.Uniform(-kMaxHoverYawRad, kMaxHoverYawRad),
          random.Uniform(0, model.max_opening_m)};
}

double FoldYaw(double yaw_rad) {
  return yaw_rad - std::numbers::pi * std::round(yaw_rad / std::numbers::pi);
}

Vec3d Along(const Vec3d& from_m, double angle_rad, double distance_m) {
  return {from_m[0] + distance_m * std::cos(angle_rad),
          from_m[1] + distance_m * std::sin(angle_rad), from_m[2]};
}

double YawOf(const Transform& world_from_object) {
  const std::array<double, 4>& q = world_from_object.rotation_xyzw;
  return std::atan2(2 * (q[3] * q[2] + q[0] * q[1]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
}

double Uprightness(const Transform& world_from_object) {
  const std::array<double, 4>& q = world_from_object.rotation_xyzw;
  return 1 - 2 * (q[0] * q[0] + q[1] * q[1]);
}

bool WithinTheTable(const Transform& world_from_object) {
  const Vec3d& p = world_from_object.translation_m;
  return std::abs(p[0]) < kTableHalfX && std::abs(p[1]) < kTableHalfY;
}

}  // namespace interlacer::sim
