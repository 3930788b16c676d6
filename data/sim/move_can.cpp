#include "data/sim/move_can.h"

#include <cmath>

#include "common/transforms.h"
#include "data/sim/task_geometry.h"

namespace interlacer::sim {
namespace {

constexpr int kCarryTries = 64;

constexpr double kSetDownGapM = 0.001;
// A can let go in motion: way of the tool in one step; the fingers open by so little that they come
// off it half-way, at full speed.
constexpr double kMinTossM = 0.14;
constexpr double kMaxTossM = 0.25;
constexpr double kTossOpeningM = 2 * kSqueezeM;
constexpr double kRiseM = 0.08;  // straight up after a can was let go
constexpr int kMaxWaitSteps = 2;
constexpr int kNextCarryStep = 21;  // from here on the can is taken up again

// The board's near edge against the middle of the falling can, in radii of the can.
constexpr double kMaxOnBoardShare = 0.2;
constexpr double kMaxOffBoardShare = 0.9;
constexpr double kBoardKg = 0.8;

// What an episode must show.
constexpr double kLiftedM = 0.10;
constexpr double kStandsWithinM = 0.004;
constexpr double kCanUprightCosine = 0.99;
constexpr double kFellM = 0.05;
constexpr double kAtRestM = 0.005;  // per step
constexpr double kUntouchedM = 0.01;
constexpr double kMaxBoardM = 0.035;  // the can may come to rest on the board
constexpr double kTableMarginM = 0.05;

}  // namespace

MoveCan::MoveCan(const RobotSetup& robot, RandomSequence random, ColorSet colors, CanEnding ending)
    : robot_(robot),
      random_(random),
      colors_(colors),
      ending_(ending),
      speed_m_(random_.Uniform(kMinCarrySpeedM, kMaxCarrySpeedM)),
      can_(DrawCanSize(random_)),
      tool_(robot.arm_count),
      path_(robot.arm_count) {}

std::string MoveCan::Text() const {
  const std::string can = "the " + color_name_ + " can";
  return ending_ == CanEnding::kSetDown ? "lift " + can + " and set it down elsewhere"
                                        : "lift " + can + " and drop it";
}

ToolTargets MoveCan::Prepare(Scene& scene) {
  const NamedColor& color = DrawColor(random_, ObjectColors(colors_));
  color_name_ = color.name;
  SceneObject can = MakeCan(can_, color.color, random_.Uniform(0.10, 0.25));
  can.world_from_object = {{random_.Uniform(-kCanAreaHalfX, kCanAreaHalfX),
                            random_.Uniform(-kCanAreaHalfY, kCanAreaHalfY), can_.half_height_m},
                           YawQuaternion(random_.Uniform(0, 2))};
  scene.objects.push_back(can);
  scene.has_grasps = true;
  for (int arm = 0; arm < robot_.arm_count; ++arm) {
    tool_[arm] = DrawHover(robot_, random_, arm);
    path_[arm].Restart(tool_[arm]);
  }
  const int wait_steps = static_cast<int>(random_.Below(kMaxWaitSteps + 1));
  for (int arm = 0; arm < robot_.arm_count; ++arm) {
    if (wait_steps == 0) continue;
    const ToolTarget hover = DrawHover(robot_, random_, arm);
    path_[arm].MoveTo(hover,
                      DistanceM(tool_[arm].position_m, hover.position_m) / wait_steps + 1e-6);
  }
  const Vec3d start_m = can.world_from_object.translation_m;
  const std::optional<Vec3d> end_m = PlanCarry(start_m);
  if (ending_ == CanEnding::kDrop && end_m) {
    const double bearing_rad = std::atan2((*end_m)[1] - start_m[1], (*end_m)[0] - start_m[0]);
    scene.objects.push_back(DrawBoard(*end_m, bearing_rad));
  }
  return tool_;
}

bool MoveCan::DrawCarry(const Vec3d& can_m, int& arm, Vec3d& end_m) {
  for (int attempt = 0; attempt < kCarryTries; ++attempt) {
    arm = static_cast<int>(random_.Below(robot_.arm_count));
    end_m = Along(can_m, random_.Uniform(-3.15, 3.15), random_.Uniform(kMinCarryM, kMaxCarryM));
    if (InReach(robot_, arm, can_m) && InReach(robot_, arm, end_m) && InCanArea(end_m)) return true;
  }
  return false;
}

SceneObject MoveCan::DrawBoard(const Vec3d& end_m, double bearing_rad) {
  SceneObject board;
  board.name = "board";
  board.half_size_m = {random_.Uniform(0.04, 0.055), random_.Uniform(0.05, 0.07),
                       random_.Uniform(0.010, 0.015)};
  board.color = DrawColor(random_, ObjectColors(colors_)).color;
  board.mass_kg = kBoardKg;
  const double edge_m = random_.Uniform(-kMaxOnBoardShare, kMaxOffBoardShare) * can_.radius_m;
  board.world_from_object = {Along(end_m, bearing_rad, edge_m + board.half_size_m[0]),
                             YawQuaternion(bearing_rad)};
  board.world_from_object.translation_m[2] = board.half_size_m[2];
  return board;
}

std::optional<Vec3d> MoveCan::PlanCarry(const Vec3d& can_m) {
  int arm = 0;
  Vec3d end_m;
  carrying_arm_ = -1;
  if (!DrawCarry(can_m, arm, end_m)) return std::nullopt;
  carrying_arm_ = arm;
  ToolPath& path = path_[arm];
  CanGrasp grasp;
  grasp.place_m = can_m;
  grasp.above_m = 2 * can_.half_height_m + kGraspClearanceM;
  grasp.grip_m = can_.half_height_m + random_.Uniform(kMinGripM, kMaxGripM);
  grasp.carry_m = grasp.grip_m + random_.Uniform(kMinRiseM, kMaxRiseM);
  grasp.yaw_rad = random_.Uniform(-kMaxGraspYawRad, kMaxGraspYawRad);
  grasp.open_m = robot_.model->max_opening_m;
  grasp.closed_m = HoldingOpeningM(*robot_.model, can_.radius_m);
  AppendGrasp(grasp, speed_m_, &path);
  ToolTarget goal = path.end();
  const double bearing_rad = std::atan2(end_m[1] - can_m[1], end_m[0] - can_m[0]);
  const bool is_tossed = ending_ == CanEnding::kDrop && random_.Below(3) == 0;
  const double toss_m = is_tossed ? random_.Uniform(kMinTossM, kMaxTossM) : 0;
  goal.position_m = Along({end_m[0], end_m[1], grasp.carry_m}, bearing_rad, -toss_m);
  path.MoveTo(goal, speed_m_);
  if (is_tossed) {
    goal.position_m = Along(goal.position_m, bearing_rad, toss_m);
    goal.opening_m += kTossOpeningM;
    path.MoveTo(goal, toss_m);
  } else if (ending_ == CanEnding::kSetDown) {
    goal.position_m[2] = grasp.grip_m + kSetDownGapM;
    path.MoveTo(goal, speed_m_);
  }
  if (!is_tossed) {
    goal.opening_m = robot_.model->max_opening_m;
    path.MoveTo(goal, speed_m_);
  }
  goal.opening_m = robot_.model->max_opening_m;
  goal.position_m[2] += kRiseM;
  path.MoveTo(goal, speed_m_);
  path.MoveTo(DrawHover(robot_, random_, arm), speed_m_);
  return end_m;
}

ToolTargets MoveCan::Next(const std::vector<Transform>& world_from_object) {
  ++step_;
  const Transform& can = world_from_object.front();
  const bool is_free = carrying_arm_ < 0 || path_[carrying_arm_].Done();
  if (ending_ == CanEnding::kSetDown && step_ >= kNextCarryStep && is_free) {
    PlanCarry(can.translation_m);
  }
  for (int arm = 0; arm < robot_.arm_count; ++arm) {
    if (path_[arm].Done()) path_[arm].MoveTo(DrawHover(robot_, random_, arm), speed_m_);
    tool_[arm] = path_[arm].Pop();
  }
  return tool_;
}

bool MoveCan::Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const {
  bool was_lifted = false;
  bool was_set_down = false;
  bool fell = false;
  for (std::size_t step = 0; step < poses_of_step.size(); ++step) {
    const Transform& can = poses_of_step[step].front();
    const double above_m = can.translation_m[2] - can_.half_height_m;
    const bool is_upright = Uprightness(can) > kCanUprightCosine;
    if (ending_ == CanEnding::kSetDown && !is_upright) return false;
    was_lifted |= above_m > kLiftedM;
    was_set_down |= was_lifted && is_upright && std::abs(above_m) < kStandsWithinM;
    if (step == 0) continue;
    const Transform& before = poses_of_step[step - 1].front();
    fell |= was_lifted && before.translation_m[2] - can.translation_m[2] > kFellM;
    const std::size_t first_other = ending_ == CanEnding::kDrop ? 2 : 1;  // after the board
    for (std::size_t o = first_other; o < poses_of_step[step].size(); ++o) {
      const Vec3d& first_m = poses_of_step.front()[o].translation_m;
      if (DistanceM(first_m, poses_of_step[step][o].translation_m) > kUntouchedM) return false;
    }
  }
  if (!was_lifted) return false;
  if (ending_ == CanEnding::kSetDown) return was_set_down;
  const Transform& last = poses_of_step.back().front();
  const Transform& before = poses_of_step[poses_of_step.size() - 2].front();
  return fell && DistanceM(last.translation_m, before.translation_m) < kAtRestM &&
         std::abs(last.translation_m[0]) < kTableHalfX - kTableMarginM &&
         std::abs(last.translation_m[1]) < kTableHalfY - kTableMarginM &&
         last.translation_m[2] < can_.half_height_m + kMaxBoardM;
}

}  // namespace interlacer::sim
