/// Wide motions of an arm of seven joints, of which the rest pose follows only some to the end.

#include "data/importers/end_effector_joints.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/inverse_kinematics.h"
#include "robots/joint_values.h"
#include "tests/robots/seven_joint_robot.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

constexpr int kSteps = 20, kTool = 8;

/// Almost to the limits.
std::vector<std::vector<Transform>> WidePoses(const Robot& robot, int phase) {
  std::vector<std::vector<Transform>> poses;
  for (int step = 0; step < kSteps; ++step) {
    std::vector<double> values;
    for (int j = 0; j < 7; ++j) {
      values.push_back((j % 2 == 0 ? 2.7 : 1.9) * std::sin(phase + j * j + 0.05 * step));
    }
    values.push_back(0.01);
    poses.push_back({LinkPoses(robot, values)[kTool]});
  }
  return poses;
}

bool RestFollows(const Robot& robot, const std::vector<std::vector<Transform>>& poses) {
  std::vector<double> values = RestValues(robot);
  for (const auto& pose : poses) {
    const LinkGoal goal{kTool, kTool, pose[0].translation_m, pose[0].rotation_xyzw};
    ReachedGoal reached = ReachGoal(robot, goal, values);
    if (reached.position_off_m > kReachedM || reached.angle_off_rad > kReachedRad) return false;
    values = std::move(reached.joint_values);
  }
  return true;
}

TEST(EndEffectorJointsTest, AnotherPostureFollowsWhatTheRestPoseDoesNot) {
  const auto robot = std::make_shared<const Robot>(testing::SevenJointRobot());
  std::vector<bool> measured(8, false);
  measured[7] = true;
  std::vector<std::int64_t> steps(kSteps);
  std::iota(steps.begin(), steps.end(), 0);
  int lost_count = 0;
  for (int phase = 0; phase < 8; ++phase) {
    const auto poses = WidePoses(*robot, phase);
    lost_count += RestFollows(*robot, poses) ? 0 : 1;
    auto joints = Must(EndEffectorJoints::Make(robot, {"pos=tool,quat=tool"}, measured));
    const std::vector<std::vector<double>> rows(kSteps, std::vector<double>(8, 0.01));
    const auto solved = joints.Solve(steps, rows, poses, {});
    ASSERT_TRUE(solved.ok()) << phase << ": " << solved.status().ToString();
    for (int step = 0; step < kSteps; ++step) {
      const std::vector<double>& row = (*solved)[step];
      EXPECT_TRUE(CheckJointValues(*robot, row, "row").ok());
      EXPECT_EQ(row[7], 0.01);
      EXPECT_LT(
          DistanceM(LinkPoses(*robot, row)[kTool].translation_m, poses[step][0].translation_m),
          1e-4);
    }
    EXPECT_NE(joints.Note().find("from pos, quat, not measured"), std::string::npos);
  }
  EXPECT_GT(lost_count, 0);
}

TEST(EndEffectorJointsTest, RotationsThatAreNoneAreRefused) {
  const auto robot = std::make_shared<const Robot>(testing::SevenJointRobot());
  std::vector<bool> measured(8, false);
  measured[7] = true;
  auto joints = Must(EndEffectorJoints::Make(robot, {"pos=tool,quat=tool"}, measured));
  const std::vector<std::int64_t> steps = {12};
  const std::vector<std::vector<Transform>> poses = {{{{0.3, 0, 0.8}, {0, 0, 0, 0}}}};
  const Status solved = joints.Solve(steps, {std::vector<double>(8, 0)}, poses, {}).status();
  EXPECT_EQ(solved.reason(), reason::QUATERNION_NOT_UNIT);
  EXPECT_NE(solved.field().find("quat row 12"), std::string::npos);
}

}  // namespace
}  // namespace interlacer
