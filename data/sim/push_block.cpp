#include "data/sim/push_block.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "common/transforms.h"
#include "data/sim/task_geometry.h"

namespace interlacer::sim {
namespace {

constexpr double kPi = std::numbers::pi;

// The lane in the middle of the table in which the block stays.
constexpr double kLaneHalfX = 0.20;
constexpr double kLaneHalfY = 0.22;
constexpr double kStartHalfX = 0.14;
constexpr double kStartHalfY = 0.14;

constexpr double kApproachGapM = 0.035;  // fingers to block before a push
constexpr double kRetreatM = 0.05;
constexpr double kMinPushM = 0.12;
constexpr double kMaxPushM = 0.30;
constexpr double kMaxSlantRad = 0.2;  // of a push from the normal of the face
constexpr int kPushTries = 64;

constexpr double kMovedM = 0.08;  // block travel that makes an episode a push
constexpr double kBlockUprightCosine = 0.98;

bool StandsOnTheTable(const Transform& pose) {
  return WithinTheTable(pose) && Uprightness(pose) > kBlockUprightCosine;
}

bool InLane(const Vec3d& block_m) {
  return std::abs(block_m[0]) < kLaneHalfX && std::abs(block_m[1]) < kLaneHalfY;
}

}  // namespace

PushBlock::PushBlock(const RobotSetup& robot, RandomSequence random, ColorSet colors)
    : robot_(robot),
      random_(random),
      colors_(colors),
      speed_m_(random_.Uniform(0.07, 0.12)),
      tool_(robot.arm_count),
      path_(robot.arm_count) {}

std::string PushBlock::Text() const { return "push the " + color_name_ + " block about the table"; }

ToolTargets PushBlock::Prepare(Scene& scene) {
  SceneObject block;
  block.name = "block";
  block.half_size_m = {random_.Uniform(0.04, 0.06), random_.Uniform(0.04, 0.06),
                       random_.Uniform(0.03, 0.04)};
  half_size_m_ = block.half_size_m;
  const NamedColor& color = DrawColor(random_, BlockColors(colors_));
  color_name_ = color.name;
  block.color = color.color;
  block.mass_kg = random_.Uniform(0.2, 0.4);
  const double yaw_rad = random_.Uniform(-kPi, kPi);
  block.world_from_object = {{random_.Uniform(-kStartHalfX, kStartHalfX),
                              random_.Uniform(-kStartHalfY, kStartHalfY), block.half_size_m[2]},
                             YawQuaternion(yaw_rad)};
  scene.objects.push_back(block);
  for (int arm = 0; arm < robot_.arm_count; ++arm) {
    tool_[arm] = DrawHover(robot_, random_, arm);
    path_[arm].Restart(tool_[arm]);
  }
  return tool_;
}

bool PushBlock::Redraw(RandomSequence random) {
  random_ = random;
  return true;
}

bool PushBlock::DrawPush(const Transform& world_from_block, Push& push) {
  const Vec3d& block_m = world_from_block.translation_m;
  for (int attempt = 0; attempt < kPushTries; ++attempt) {
    push.arm = static_cast<int>(random_.Below(robot_.arm_count));
    const int face = static_cast<int>(random_.Below(4));
    push.angle_rad =
        YawOf(world_from_block) + face * kPi / 2 + random_.Uniform(-kMaxSlantRad, kMaxSlantRad);
    const double length_m = random_.Uniform(kMinPushM, kMaxPushM);
    const double behind_m = half_size_m_[face % 2] + robot_.model->finger_half_width_m;
    if (!InLane(Along(block_m, push.angle_rad, length_m))) continue;
    push.contact_m = Along(block_m, push.angle_rad, -behind_m);
    push.end_m = Along(push.contact_m, push.angle_rad, length_m);
    push.contact_m[2] = push.end_m[2] = kPushHeightM;
    const Vec3d start_m = Along(push.contact_m, push.angle_rad, -kApproachGapM);
    if (InReach(robot_, push.arm, start_m) && InReach(robot_, push.arm, push.end_m)) return true;
  }
  return false;
}

void PushBlock::PlanPush(const Push& push) {
  ToolPath& path = path_[push.arm];
  path.Restart(tool_[push.arm]);
  ToolTarget goal = {Along(push.contact_m, push.angle_rad, -kApproachGapM), FoldYaw(push.angle_rad),
                     kPushOpeningM};
  goal.position_m[2] = kLiftedHeightM;
  path.MoveTo(goal, speed_m_);
  goal.position_m[2] = kPushHeightM;
  path.MoveTo(goal, speed_m_);
  goal.position_m = push.end_m;
  path.MoveTo(goal, speed_m_);
  goal.position_m = Along(push.end_m, push.angle_rad, -kRetreatM);
  goal.position_m[2] = kPushHeightM + kRetreatM;
  path.MoveTo(goal, speed_m_);
  goal.position_m[2] = kLiftedHeightM;
  path.MoveTo(goal, speed_m_);
  path.MoveTo(DrawHover(robot_, random_, push.arm), speed_m_);
  pushing_arm_ = push.arm;
}

ToolTargets PushBlock::Next(const std::vector<Transform>& world_from_object) {
  if (pushing_arm_ < 0 || path_[pushing_arm_].Done()) {
    Push push;
    pushing_arm_ = -1;
    if (DrawPush(world_from_object.front(), push)) PlanPush(push);
  }
  for (int arm = 0; arm < robot_.arm_count; ++arm) {
    if (path_[arm].Done()) path_[arm].MoveTo(DrawHover(robot_, random_, arm), speed_m_);
    tool_[arm] = path_[arm].Pop();
  }
  return tool_;
}

void PushBlock::Interrupt(const ToolTargets& tools) {
  tool_ = tools;
  for (int arm = 0; arm < robot_.arm_count; ++arm) path_[arm].Restart(tools[arm]);
  pushing_arm_ = -1;
}

bool PushBlock::Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const {
  double travel_m = 0;
  for (std::size_t step = 1; step < poses_of_step.size(); ++step) {
    const Vec3d& from_m = poses_of_step[step - 1].front().translation_m;
    const Vec3d& to_m = poses_of_step[step].front().translation_m;
    travel_m += std::hypot(to_m[0] - from_m[0], to_m[1] - from_m[1]);
  }
  const std::vector<Transform>& last = poses_of_step.back();
  return travel_m > kMovedM && std::all_of(last.begin(), last.end(), StandsOnTheTable);
}

}  // namespace interlacer::sim
