#include "data/sim/inverse_kinematics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "common/transforms.h"
#include "data/sim/forward_kinematics.h"

namespace interlacer::sim {
namespace {

constexpr double kPositionM = 1e-3;  // twice the solver's tolerance
constexpr double kCosine = 1e-5;     // of an angle of 2 mrad, with room for rounding

Vec3d AxisOf(const Transform& world_from_gripper, const Vec3d& axis) {
  const Vec3d tip = Apply(world_from_gripper, axis);
  const Vec3d& origin = world_from_gripper.translation_m;
  return {tip[0] - origin[0], tip[1] - origin[1], tip[2] - origin[2]};
}

class InverseKinematicsTest : public ::testing::TestWithParam<const ArmModel*> {};

TEST_P(InverseKinematicsTest, ReachesPosesWithinTheTable) {
  const ArmModel& model = *GetParam();
  for (int arm = 0; arm < kMaxArmCount; ++arm) {
    const double side = arm == 0 ? -1 : 1;
    for (const double x : {0.20, 0.05, -0.08}) {
      for (const double y : {-0.2, 0.0, 0.2}) {
        for (const double yaw_rad : {-1.5, 0.0, 0.9}) {
          const ToolTarget target = {{side * x, y, 0.15}, yaw_rad, 0.01};
          const StatusOr<ArmJoints> joint_rad = SolveArm(model, arm, target, model.rest_rad);
          ASSERT_TRUE(joint_rad.ok()) << joint_rad.status().ToString();
          const Transform gripper = ComputeArmFrames(model, arm, *joint_rad).world_from_gripper;
          const Vec3d tool_m = Apply(gripper, model.tool_point_m());
          for (int i = 0; i < 3; ++i) EXPECT_NEAR(tool_m[i], target.position_m[i], kPositionM);
          EXPECT_NEAR(AxisOf(gripper, {0, 0, 1})[2], -1, kCosine);
          const Vec3d opening = AxisOf(gripper, {0, 1, 0});
          const double along = -opening[0] * std::sin(yaw_rad) + opening[1] * std::cos(yaw_rad);
          EXPECT_NEAR(std::abs(along), 1, kCosine);
          for (int j = 0; j < kJointCount; ++j) {
            EXPECT_GT((*joint_rad)[j], model.links[j].min_rad);
            EXPECT_LT((*joint_rad)[j], model.links[j].max_rad);
          }
        }
      }
    }
  }
}

TEST_P(InverseKinematicsTest, RefusesWhatIsOutOfReach) {
  const ArmModel& model = *GetParam();
  const Status far = SolveArm(model, 0, {{0.6, 0, 0.1}, 0, 0}, model.rest_rad).status();
  EXPECT_EQ(far.code(), StatusCode::kOutOfRange);
  EXPECT_NE(far.message().find("left"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Arms, InverseKinematicsTest, ::testing::Values(&KukaIiwa(), &Panda()),
                         [](const auto& model) { return std::string(model.param->name); });

}  // namespace
}  // namespace interlacer::sim
