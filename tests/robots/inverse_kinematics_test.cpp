/// Poses that forward kinematics makes are reached again, within the limits and from far starts;
/// those that no joints reach are told by how far they are off.

#include "robots/inverse_kinematics.h"

#include <gtest/gtest.h>

#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"
#include "tests/robots/seven_joint_robot.h"
#include "tests/robots/small_robot.h"

namespace interlacer {
namespace {

constexpr int kTool = 8;

LinkGoal GoalAt(const Robot& robot, const std::vector<double>& values, int position_link,
                int rotation_link) {
  const std::vector<Transform> poses = LinkPoses(robot, values);
  return {position_link, rotation_link, poses[position_link].translation_m,
          poses[rotation_link].rotation_xyzw};
}

TEST(ReachGoalTest, FollowsAMotionFromStepToStep) {
  const Robot robot = testing::SevenJointRobot();
  ASSERT_TRUE(ValidateRobot(robot).ok()) << ValidateRobot(robot).ToString();
  std::vector<double> values = RestValues(robot);
  for (int step = 0; step < 20; ++step) {
    const LinkGoal goal = GoalAt(robot, testing::SevenJointMotion(0.5 * step), kTool, kTool);
    const ReachedGoal reached = ReachGoal(robot, goal, values);
    EXPECT_LT(reached.position_off_m, 1e-6) << step;
    EXPECT_LT(reached.angle_off_rad, 1e-6) << step;
    const Transform pose = LinkPoses(robot, reached.joint_values)[kTool];
    EXPECT_LT(DistanceM(pose.translation_m, goal.position_m), 1e-6) << step;
    EXPECT_TRUE(CheckJointValues(robot, reached.joint_values, "").ok());
    for (std::size_t c = 0; step > 0 && c < values.size(); ++c) {
      EXPECT_NEAR(reached.joint_values[c], values[c], 0.5) << step;
    }
    values = reached.joint_values;
  }
}

TEST(ReachGoalTest, PositionAndRotationOfTwoLinks) {
  const Robot robot = testing::SevenJointRobot();
  const LinkGoal goal = GoalAt(robot, testing::SevenJointMotion(2), kTool, 7);
  const ReachedGoal reached = ReachGoal(robot, goal, RestValues(robot));
  EXPECT_LT(reached.position_off_m, 1e-6);
  EXPECT_LT(reached.angle_off_rad, 1e-6);
  const LinkGoal mixed{kTool, kTool, goal.position_m, goal.rotation_xyzw};
  const ReachedGoal other = ReachGoal(robot, mixed, reached.joint_values);
  EXPECT_NE(other.joint_values, reached.joint_values);  // the tool is turned against link 7
}

TEST(ReachGoalTest, SlidingAndMimicJoints) {
  const Robot robot = testing::SmallRobot();
  for (const int finger : {3, 4}) {
    const std::vector<double> values = {0.7, -1.2, 0.03};
    const ReachedGoal reached =
        ReachGoal(robot, GoalAt(robot, values, finger, finger), RestValues(robot));
    for (std::size_t c = 0; c < values.size(); ++c) {
      EXPECT_NEAR(reached.joint_values[c], values[c], 1e-5) << finger;
    }
  }
}

TEST(ReachGoalTest, HeldColumnsAndThoseOffTheChainStay) {
  const Robot robot = testing::SevenJointRobot();
  std::vector<double> start = testing::SevenJointMotion(0);
  const double angle_rad = start[2];
  std::vector<bool> held(8, false);
  held[2] = true;
  std::vector<double> goal_values = testing::SevenJointMotion(0.5);
  goal_values[2] = angle_rad;
  const ReachedGoal reached =
      ReachGoal(robot, GoalAt(robot, goal_values, kTool, kTool), start, held);
  EXPECT_LT(reached.position_off_m, 1e-6);
  EXPECT_EQ(reached.joint_values[2], angle_rad);
  EXPECT_EQ(reached.joint_values[7], start[7]);
  EXPECT_EQ(ColumnsOfLink(robot, kTool),
            (std::vector<bool>{true, true, true, true, true, true, true, false}));
}

TEST(ReachGoalTest, LimitsHold) {
  Robot robot = testing::SevenJointRobot();
  std::vector<double> values = testing::SevenJointMotion(0);
  values[1] = 0.7;
  const LinkGoal goal = GoalAt(robot, values, kTool, kTool);
  const std::vector<double> start = testing::SevenJointMotion(2);
  const double free_rad = ReachGoal(robot, goal, start).joint_values[1];
  robot.links[2].joint.limits = JointLimits{free_rad - 1, free_rad - 0.05};
  std::vector<double> limited = start;
  limited[1] = std::min(start[1], free_rad - 0.05);
  const ReachedGoal reached = ReachGoal(robot, goal, limited);
  EXPECT_LT(reached.position_off_m, 1e-6);
  EXPECT_LT(reached.angle_off_rad, 1e-6);
  EXPECT_LE(reached.joint_values[1], free_rad - 0.05);
}

TEST(ReachGoalTest, OutOfReachSaysHowFar) {
  const Robot robot = testing::SevenJointRobot();
  // Straight up the arm ends at 0.3 + 0.95 + 0.1 m.
  const std::vector<Transform> poses = LinkPoses(robot, RestValues(robot));
  LinkGoal goal = GoalAt(robot, RestValues(robot), kTool, kTool);
  EXPECT_NEAR(goal.position_m[2], 1.35, 1e-12);
  goal.position_m[2] += 0.25;
  const ReachedGoal reached = ReachGoal(robot, goal, testing::SevenJointMotion(0));
  EXPECT_NEAR(reached.position_off_m, 0.25, 1e-3);
  EXPECT_LT(reached.angle_off_rad, 1e-2);
}

}  // namespace
}  // namespace interlacer
