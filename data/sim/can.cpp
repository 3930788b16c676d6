#include "data/sim/can.h"

#include <cmath>
#include <numbers>

#include "data/sim/task_geometry.h"

namespace interlacer::sim {
namespace {

constexpr double kRimHalfHeightM = 0.003;
constexpr double kRimShare = 0.9;  // of the can's radius
constexpr Rgb kTin = {0.72, 0.73, 0.75};

}  // namespace

CanSize DrawCanSize(RandomSequence& random) {
  CanSize size;
  size.radius_m = random.Uniform(0.025, 0.034);
  size.half_height_m = random.Uniform(0.045, 0.06);
  return size;
}

SceneObject MakeCan(const CanSize& size, const Rgb& color, double mass_kg) {
  SceneObject can;
  can.name = "can";
  can.shape = ObjectShape::kCylinder;
  can.half_size_m = {size.radius_m, size.radius_m, size.half_height_m};
  can.color = color;
  can.mass_kg = mass_kg;
  can.rolling_friction_m = 0.003;
  for (const double end : {-1.0, 1.0}) {
    ObjectPart rim;
    rim.shape = ObjectShape::kCylinder;
    rim.half_size_m = {kRimShare * size.radius_m, kRimShare * size.radius_m, kRimHalfHeightM};
    // Its face stands out by half a millimetre to avoid z-fighting.
    rim.object_from_part.translation_m = {0, 0,
                                          end * (size.half_height_m - kRimHalfHeightM + 5e-4)};
    rim.color = kTin;
    rim.solid = false;
    can.parts.push_back(rim);
  }
  return can;
}

bool InCanArea(const Vec3d& place_m) {
  return std::abs(place_m[0]) < kCanAreaHalfX && std::abs(place_m[1]) < kCanAreaHalfY;
}

double HoldingOpeningM(const ArmModel& model, double radius_m) {
  return radius_m - model.finger_gap_m - kSqueezeM;
}

void AppendGrasp(const CanGrasp& grasp, double speed_m, ToolPath* path) {
  ToolTarget goal = {grasp.place_m, grasp.yaw_rad, grasp.open_m};
  goal.position_m[2] = grasp.above_m;
  path->MoveTo(goal, speed_m);
  goal.position_m[2] = grasp.grip_m;
  path->MoveTo(goal, speed_m);
  goal.opening_m = grasp.closed_m;
  path->MoveTo(goal, speed_m);
  goal.position_m[2] = grasp.carry_m;
  path->MoveTo(goal, speed_m);
}

namespace {

std::optional<ArmPath> DrawGraspNear(const RobotSetup& robot, const CanSize& can,
                                     const Vec3d& near_m, const std::vector<ToolTarget>& tools,
                                     RandomSequence& random) {
  const auto arm = static_cast<int>(random.Below(static_cast<std::uint32_t>(robot.arm_count)));
  const double speed_m = random.Uniform(kMinCarrySpeedM, kMaxCarrySpeedM);
  CanGrasp grasp;
  const double aside_m = kMissM * std::sqrt(random.Uniform(0, 1));
  grasp.place_m = Along(near_m, random.Uniform(-std::numbers::pi, std::numbers::pi), aside_m);
  grasp.yaw_rad = random.Uniform(-kMaxGraspYawRad, kMaxGraspYawRad);
  grasp.above_m = 2 * can.half_height_m + kGraspClearanceM;
  grasp.grip_m = can.half_height_m + random.Uniform(kMinGripM, kMaxGripM);
  grasp.carry_m = grasp.grip_m + random.Uniform(kMinRiseM, kMaxRiseM);
  grasp.open_m = robot.model->max_opening_m;
  grasp.closed_m = HoldingOpeningM(*robot.model, can.radius_m);
  Vec3d end_m = Along(grasp.place_m, random.Uniform(-std::numbers::pi, std::numbers::pi),
                      random.Uniform(kMinCarryM, kMaxCarryM));
  if (!InReach(robot, arm, grasp.place_m) || !InReach(robot, arm, end_m) || !InCanArea(end_m)) {
    return std::nullopt;
  }
  ArmPath drawn{arm, ToolPath(tools[arm])};
  AppendGrasp(grasp, speed_m, &drawn.path);
  ToolTarget goal = drawn.path.end();
  end_m[2] = grasp.carry_m;
  goal.position_m = end_m;
  drawn.path.MoveTo(goal, speed_m);
  return drawn;
}

std::optional<ArmPath> DrawCarryOn(const RobotSetup& robot, const CanSize& can, int arm,
                                   const ToolTarget& tool, RandomSequence& random) {
  ToolTarget goal = tool;
  const double length_m = random.Uniform(0, kMaxOnM);
  goal.position_m =
      Along(goal.position_m, random.Uniform(-std::numbers::pi, std::numbers::pi), length_m);
  goal.position_m[2] += random.Uniform(-kMaxOnUpM, kMaxOnUpM);
  if (!InReach(robot, arm, goal.position_m) || !InCanArea(goal.position_m) ||
      goal.position_m[2] < can.half_height_m + kMinGripM) {
    return std::nullopt;
  }
  ArmPath drawn{arm, ToolPath(tool)};
  drawn.path.MoveTo(goal, random.Uniform(kMinCarrySpeedM, kMaxCarrySpeedM));
  return drawn;
}

/// The first arm whose fingers were told to close on the can, or -1.
int ClosedArm(const RobotSetup& robot, const CanSize& can, const std::vector<ToolTarget>& tools) {
  const double closed_m = HoldingOpeningM(*robot.model, can.radius_m);
  for (int arm = 0; arm < robot.arm_count; ++arm) {
    if (std::abs(tools[arm].opening_m - closed_m) < 1e-9) return arm;
  }
  return -1;
}

}  // namespace

std::optional<ArmPath> DrawGraspOrCarry(const RobotSetup& robot, const CanSize& can,
                                        const Vec3d& near_m, const std::vector<ToolTarget>& tools,
                                        RandomSequence& random) {
  const int closed_arm = ClosedArm(robot, can, tools);
  const bool goes_on = random.Below(2) == 0 && closed_arm >= 0;
  return goes_on ? DrawCarryOn(robot, can, closed_arm, tools[closed_arm], random)
                 : DrawGraspNear(robot, can, near_m, tools, random);
}

}  // namespace interlacer::sim
