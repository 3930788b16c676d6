#include "data/sim/robot.h"

#include <algorithm>
#include <numbers>

namespace interlacer::sim {
namespace {

constexpr double kHalf = std::numbers::sqrt2 / 2;
constexpr std::array<double, 4> kNoTurn = {0, 0, 0, 1};
constexpr std::array<double, 4> kFlip = {0, kHalf, kHalf, 0};  // y up, x reversed
constexpr std::array<double, 4> kQuarterAboutX = {kHalf, 0, 0, kHalf};

constexpr double kWideLimitRad = 2.96706;
constexpr double kNarrowLimitRad = 2.0944;
constexpr double kWristLimitRad = 3.05433;
constexpr double kBaseDistanceM = 0.62;  // of each arm's axis from the middle of the table

constexpr double kMaxJointChangeRad = 1.2;

}  // namespace

const std::array<LinkFrame, kJointCount> kLinks = {{
    {{{0, 0, 0.15}, kNoTurn}, kWideLimitRad},
    {{{0, 0, 0.19}, kFlip}, kNarrowLimitRad},
    {{{0, 0.21, 0}, kFlip}, kWideLimitRad},
    {{{0, 0, 0.19}, kQuarterAboutX}, kNarrowLimitRad},
    {{{0, 0.21, 0}, kFlip}, kWideLimitRad},
    {{{0, 0.0607, 0.19}, kQuarterAboutX}, kNarrowLimitRad},
    {{{0, 0.081, 0.0607}, kFlip}, kWristLimitRad},
}};

const Transform kLink7FromGripper = {{0, 0, 0.044}, kNoTurn};

const std::array<Transform, kArmCount> kWorldFromBase = {{
    {{-kBaseDistanceM, 0, 0}, kNoTurn},
    {{kBaseDistanceM, 0, 0}, {0, 0, 1, 0}},
}};

const std::vector<StateColumn>& StateColumns() {
  static const std::vector<StateColumn> columns = [] {
    std::vector<StateColumn> made;
    for (const std::string_view arm : kArmNames) {
      const std::string prefix = std::string(arm) + "_";
      for (int j = 0; j < kJointCount; ++j) {
        const double limit = kLinks[j].limit_rad;
        made.push_back({prefix + "joint_" + std::to_string(j + 1) + "_rad", "rad", -limit, limit,
                        kMaxJointChangeRad});
      }
      made.push_back({prefix + "gripper_m", "m", 0, kGripperMaxM, kGripperMaxM});
    }
    return made;
  }();
  return columns;
}

ArmJoints JointsOfArm(std::span<const double, kStateColumns> state, int arm) {
  ArmJoints joints;
  std::copy_n(state.begin() + arm * kArmColumns, kJointCount, joints.begin());
  return joints;
}

double GripperOfArm(std::span<const double, kStateColumns> state, int arm) {
  return state[arm * kArmColumns + kJointCount];
}

}  // namespace interlacer::sim
