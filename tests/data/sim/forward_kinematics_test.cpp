#include <gtest/gtest.h>

#include <cmath>

#include "tests/data/sim/arm_points.h"
#include "tests/support/tolerances.h"

namespace interlacer::sim {
namespace {

double Distance(const Vec3d& a, const Vec3d& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

TEST(ForwardKinematicsTest, UprightArmIsAStraightColumn) {
  const RobotState state{};
  const KinematicPoints points = ForwardKinematics(state);
  // Heights of the link origins of an iiwa that stands straight, from its data sheet: shoulder
  // 0.34, elbow 0.74, wrist 1.14.
  for (int arm = 0; arm < kArmCount; ++arm) {
    const double base_x = WorldFromBase(KukaIiwa(), arm).translation_m[0];
    EXPECT_NEAR(points[arm * kArmPoints + 1][2], 0.34, testing::kJointChainToleranceM);
    EXPECT_NEAR(points[arm * kArmPoints + 3][2], 0.74, testing::kJointChainToleranceM);
    EXPECT_NEAR(points[arm * kArmPoints + 5][2], 1.14, testing::kJointChainToleranceM);
    for (int p = 0; p < kJointCount + 1; ++p) {
      if (p == 5) continue;  // the frame of link 6 lies beside the axis
      EXPECT_NEAR(points[arm * kArmPoints + p][0], base_x, testing::kJointChainToleranceM) << p;
    }
  }
}

TEST(ForwardKinematicsTest, OpeningMovesBothFingersAndNothingElse) {
  RobotState state{};
  const KinematicPoints closed = ForwardKinematics(state);
  constexpr double kOpeningM = 0.03;
  state[kJointCount] = kOpeningM;
  const KinematicPoints open = ForwardKinematics(state);
  for (int p = 0; p < kKinematicPoints; ++p) {
    const bool finger_of_left = p == kJointCount + 1 || p == kJointCount + 2;
    EXPECT_NEAR(Distance(closed[p], open[p]), finger_of_left ? kOpeningM : 0,
                testing::kJointChainToleranceM)
        << p;
  }
  EXPECT_NEAR(Distance(open[kJointCount + 1], open[kJointCount + 2]),
              2 * (KukaIiwa().finger_offset_m + kOpeningM), testing::kJointChainToleranceM);
}

TEST(ForwardKinematicsTest, AJointMovesOnlyWhatComesAfterIt) {
  RobotState state{};
  const KinematicPoints before = ForwardKinematics(state);
  const int joint = 3;
  state[kArmColumns + joint] = 0.5;
  const KinematicPoints after = ForwardKinematics(state);
  for (int p = 0; p < kKinematicPoints; ++p) {
    const bool beyond = p > kArmPoints + joint;
    EXPECT_EQ(Distance(before[p], after[p]) > 1e-3, beyond) << p;
  }
}

TEST(ForwardKinematicsTest, NamesAndColumnsAreInOrder) {
  ASSERT_EQ(KinematicPointNames().size(), static_cast<std::size_t>(kKinematicPoints));
  EXPECT_EQ(KinematicPointNames().front(), "left_link_1");
  EXPECT_EQ(KinematicPointNames()[7], "left_gripper");
  EXPECT_EQ(KinematicPointNames().back(), "right_finger_2");
  ASSERT_EQ(StateColumnsOf({}).size(), static_cast<std::size_t>(kStateColumns));
  EXPECT_EQ(StateColumnsOf({})[0].name, "left_joint_1_rad");
  EXPECT_EQ(StateColumnsOf({})[7].name, "left_gripper_m");
  EXPECT_EQ(StateColumnsOf({})[15].name, "right_gripper_m");
  for (const StateColumn& column : StateColumnsOf({})) EXPECT_LT(column.min, column.max);
}

}  // namespace
}  // namespace interlacer::sim
