#include "data/sim/move_can.h"

#include <algorithm>
#include <cmath>

#include "data/sim/reach.h"

namespace interlacer::sim {
namespace {

// Where a can stands.
constexpr double kLaneHalfX = 0.18;
constexpr double kLaneHalfY = 0.22;
constexpr double kMinCarryM = 0.10;
constexpr double kMaxCarryM = 0.28;
constexpr int kCarryTries = 64;

constexpr double kFingerGapM = 0.005;  // inner face of a finger to the middle plane when closed
constexpr double kSqueezeM = 0.006;    // how much further than the can the fingers want to close
constexpr double kClearanceM = 0.04;   // finger tips above the can on their way to it
constexpr double kMaxGraspYawRad = 0.8;
constexpr double kSetDownGapM = 0.001;
constexpr double kRiseM = 0.08;  // straight up after a can was let go
constexpr int kMaxWaitSteps = 2;
constexpr int kNextCarryStep = 21;  // from here on the can is taken up again

constexpr double kRimHalfHeightM = 0.003;
constexpr double kRimShare = 0.9;  // of the can's radius
constexpr Rgb kTin = {0.72, 0.73, 0.75};

// What an episode must show.
constexpr double kLiftedM = 0.10;
constexpr double kStandsWithinM = 0.004;
constexpr double kUprightCosine = 0.99;
constexpr double kFellM = 0.05;
constexpr double kAtRestM = 0.005;  // per step
constexpr double kUntouchedM = 0.01;
constexpr double kTableMarginM = 0.05;

/// The can in its colour with a rim of tin at both ends.
SceneObject MakeCan(double radius_m, double half_height_m, const Rgb& color, double mass_kg) {
  SceneObject can;
  can.name = "can";
  can.shape = ObjectShape::kCylinder;
  can.half_size_m = {radius_m, radius_m, half_height_m};
  can.color = color;
  can.mass_kg = mass_kg;
  can.rolling_friction_m = 0.0015;
  for (const double end : {-1.0, 1.0}) {
    ObjectPart rim;
    rim.shape = ObjectShape::kCylinder;
    rim.half_size_m = {kRimShare * radius_m, kRimShare * radius_m, kRimHalfHeightM};
    // Its face stands half a millimetre out, so that the two do not fight for the picture.
    rim.object_from_part.translation_m = {0, 0, end * (half_height_m - kRimHalfHeightM + 5e-4)};
    rim.color = kTin;
    rim.solid = false;
    can.parts.push_back(rim);
  }
  return can;
}

bool InLane(const Vec3d& place_m) {
  return std::abs(place_m[0]) < kLaneHalfX && std::abs(place_m[1]) < kLaneHalfY;
}

}  // namespace

MoveCan::MoveCan(RandomSequence random, ColorSet colors, CanEnding ending)
    : random_(random),
      colors_(colors),
      ending_(ending),
      speed_m_(random_.Uniform(0.08, 0.12)),
      radius_m_(random_.Uniform(0.025, 0.034)),
      half_height_m_(random_.Uniform(0.045, 0.06)) {}

std::string MoveCan::Text() const {
  const std::string can = "the " + color_name_ + " can";
  return ending_ == CanEnding::kSetDown ? "lift " + can + " and set it down elsewhere"
                                        : "lift " + can + " and drop it";
}

ToolPair MoveCan::Prepare(Scene& scene) {
  const std::span<const NamedColor> colors = ObjectColors(colors_);
  const NamedColor& color = colors[random_.Below(colors.size())];
  color_name_ = color.name;
  SceneObject can = MakeCan(radius_m_, half_height_m_, color.color, random_.Uniform(0.10, 0.25));
  can.world_from_object = {{random_.Uniform(-kLaneHalfX, kLaneHalfX),
                            random_.Uniform(-kLaneHalfY, kLaneHalfY), half_height_m_},
                           YawQuaternion(random_.Uniform(0, 2))};
  scene.objects.push_back(can);
  scene.has_grasps = true;
  for (int arm = 0; arm < kArmCount; ++arm) {
    tool_[arm] = DrawHover(random_, arm);
    path_[arm].Restart(tool_[arm]);
  }
  const int wait_steps = static_cast<int>(random_.Below(kMaxWaitSteps + 1));
  for (int arm = 0; arm < kArmCount; ++arm) {
    if (wait_steps == 0) continue;
    const ToolTarget hover = DrawHover(random_, arm);
    path_[arm].MoveTo(hover,
                      DistanceM(tool_[arm].position_m, hover.position_m) / wait_steps + 1e-6);
  }
  PlanCarry(can.world_from_object.translation_m);
  return tool_;
}

bool MoveCan::DrawCarry(const Vec3d& can_m, int& arm, Vec3d& end_m) {
  for (int attempt = 0; attempt < kCarryTries; ++attempt) {
    arm = static_cast<int>(random_.Below(kArmCount));
    end_m = Along(can_m, random_.Uniform(-3.15, 3.15), random_.Uniform(kMinCarryM, kMaxCarryM));
    if (InReach(arm, can_m) && InReach(arm, end_m) && InLane(end_m)) return true;
  }
  return false;
}

void MoveCan::PlanCarry(const Vec3d& can_m) {
  int arm = 0;
  Vec3d end_m;
  carrying_arm_ = -1;
  if (!DrawCarry(can_m, arm, end_m)) return;
  carrying_arm_ = arm;
  ToolPath& path = path_[arm];
  const double grip_m = half_height_m_ + random_.Uniform(0.005, 0.012);
  const double carry_m = grip_m + random_.Uniform(0.13, 0.21);
  ToolTarget goal = {can_m, random_.Uniform(-kMaxGraspYawRad, kMaxGraspYawRad), kGripperMaxM};
  goal.position_m[2] = 2 * half_height_m_ + kClearanceM;
  path.MoveTo(goal, speed_m_);
  goal.position_m[2] = grip_m;
  path.MoveTo(goal, speed_m_);
  goal.opening_m = radius_m_ - kFingerGapM - kSqueezeM;
  path.MoveTo(goal, speed_m_);
  goal.position_m[2] = carry_m;
  path.MoveTo(goal, speed_m_);
  const bool lets_go_in_motion = ending_ == CanEnding::kDrop && random_.Below(2) == 0;
  goal.position_m = {end_m[0], end_m[1], carry_m};
  path.MoveTo(goal, speed_m_);
  if (ending_ == CanEnding::kSetDown) {
    goal.position_m[2] = grip_m + kSetDownGapM;
    path.MoveTo(goal, speed_m_);
  } else if (lets_go_in_motion) {
    const double bearing_rad = std::atan2(end_m[1] - can_m[1], end_m[0] - can_m[0]);
    goal.position_m = Along(goal.position_m, bearing_rad, random_.Uniform(0.03, 0.07));
  }
  goal.opening_m = kGripperMaxM;
  path.MoveTo(goal, speed_m_);
  goal.position_m[2] += kRiseM;
  path.MoveTo(goal, speed_m_);
  path.MoveTo(DrawHover(random_, arm), speed_m_);
}

ToolPair MoveCan::Next(const std::vector<Transform>& world_from_object) {
  ++step_;
  const Transform& can = world_from_object.front();
  const bool is_free = carrying_arm_ < 0 || path_[carrying_arm_].Done();
  if (ending_ == CanEnding::kSetDown && step_ >= kNextCarryStep && is_free) {
    PlanCarry(can.translation_m);
  }
  for (int arm = 0; arm < kArmCount; ++arm) {
    if (path_[arm].Done()) path_[arm].MoveTo(DrawHover(random_, arm), speed_m_);
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
    const double above_m = can.translation_m[2] - half_height_m_;
    const bool is_upright = Uprightness(can) > kUprightCosine;
    if (ending_ == CanEnding::kSetDown && !is_upright) return false;
    was_lifted |= above_m > kLiftedM;
    was_set_down |= was_lifted && is_upright && std::abs(above_m) < kStandsWithinM;
    if (step == 0) continue;
    const Transform& before = poses_of_step[step - 1].front();
    fell |= was_lifted && before.translation_m[2] - can.translation_m[2] > kFellM;
    for (std::size_t o = 1; o < poses_of_step[step].size(); ++o) {
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
         last.translation_m[2] < half_height_m_ + kStandsWithinM;
}

}  // namespace interlacer::sim
