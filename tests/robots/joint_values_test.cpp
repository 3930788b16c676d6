#include "robots/joint_values.h"

#include <cmath>
#include <set>

#include "robots/forward_kinematics.h"
#include "robots/picture.h"
#include "tests/robots/small_robot.h"
#include "tests/support/matchers.h"
#include "tests/support/must.h"

namespace interlacer {
namespace {

using testing::SmallRobot;
using Names = std::vector<std::string>;

TEST(JointValues, ColumnsAreCalledByJointAndUnit) {
  EXPECT_THAT(ColumnNames(SmallRobot()), ElementsAre("turn_rad", "roll_rad", "grip_m"));
}

TEST(JointValues, ColumnsMatchInAnyOrderWithOrWithoutUnit) {
  const auto source = Must(MatchColumns(SmallRobot(), Names{"grip", "turn_rad", "roll"}));
  EXPECT_THAT(source, ElementsAre(1, 2, 0));
}

TEST(JointValues, ColumnsThatDoNotMatchTheRobotAreRefused) {
  EXPECT_THAT(MatchColumns(SmallRobot(), Names{"turn", "elbow", "grip"}).status().ToString(),
              AllOf(HasSubstr("ACTION_SHAPE"), HasSubstr("columns[1]"), HasSubstr("'elbow'"),
                    HasSubstr("turn, roll, grip")));
  EXPECT_THAT(MatchColumns(SmallRobot(), Names{"turn", "grip"}).status().ToString(),
              HasSubstr("none of 'roll'"));
  EXPECT_THAT(MatchColumns(SmallRobot(), Names{"turn", "turn_rad", "grip"}).status().ToString(),
              HasSubstr("'turn_rad' again"));
  // A joint that follows another is no column.
  EXPECT_FALSE(MatchColumns(SmallRobot(), Names{"turn", "roll", "grip", "grip_too"}).ok());
}

TEST(JointValues, TwoPercentOfTheRangeOrAMillimetreBeyondALimitAreTolerated) {
  const Robot robot = SmallRobot();  // turn from -1 to 2: 0.06 beyond
  const auto check = [&](std::vector<double> values) {
    return CheckJointValues(robot, values, "states row 3").ToString();
  };
  EXPECT_EQ(check({2.0599, 0, 0}), "OK");
  EXPECT_EQ(check({-1.0599, 0, 0}), "OK");
  EXPECT_EQ(check({0, 0, 0.04085}), "OK");  // a simulated finger that a can presses open
  EXPECT_EQ(check({0, 0, -0.00099}), "OK");
  EXPECT_EQ(check({0, 1000, 0}), "OK");  // continuous
  EXPECT_THAT(check({2.0601, 0, 0}),
              AllOf(HasSubstr("ACTION_OUT_OF_RANGE"), HasSubstr("states row 3[0]"),
                    HasSubstr("joint 'turn' from -1 to 2 rad"), HasSubstr("got 2.0601 rad")));
  EXPECT_THAT(check({-1.0601, 0, 0}), HasSubstr("ACTION_OUT_OF_RANGE"));
  EXPECT_THAT(check({0, 0, 0.0411}), HasSubstr("joint 'grip' from 0 to 0.04 m"));
  EXPECT_THAT(check({0, std::nan(""), 0}),
              AllOf(HasSubstr("ACTION_NOT_FINITE"), HasSubstr("'roll'")));
  EXPECT_THAT(check({0, 0}), AllOf(HasSubstr("ACTION_SHAPE"), HasSubstr("3 joint values")));
}

TEST(JointValues, ValuesByNameComeOverThoseAtRest) {
  Robot robot = SmallRobot();
  robot.links[1].joint.limits = JointLimits{0.5, 2};
  EXPECT_THAT(RestValues(robot), ElementsAre(0.5, 0, 0));
  const auto values = Must(ParseJointValues(robot, Names{"grip=0.03", "roll_rad=-2.5"}));
  EXPECT_THAT(values, ElementsAre(0.5, -2.5, 0.03));
  for (const std::string text : {"grip", "elbow=1", "grip=", "grip=0.01x", "grip=1"}) {
    EXPECT_FALSE(ParseJointValues(robot, Names{text}).ok()) << text;
  }
}

/// Numbers worked out by hand: base turned by 90 degrees about z, the arm by 90 degrees about its
/// y.
TEST(ForwardKinematics, FollowsTheTreeAndMimicJoints) {
  const Robot robot = SmallRobot();
  const std::vector<double> values = {M_PI / 2, 0.0, 0.03};
  const std::vector<Transform> poses = LinkPoses(robot, values);
  const auto expect_at = [&](int link, Vec3d m) {
    for (int i = 0; i < 3; ++i) {
      EXPECT_NEAR(poses[link].translation_m[i], m[i], 1e-12) << robot.links[link].name << " " << i;
    }
  };
  expect_at(0, {0.1, 0.2, 0.3});
  expect_at(1, {0.1, 0.2, 0.8});
  expect_at(2, {0.1, 0.6, 0.8});                 // z of the arm is x of the base, y of the world
  expect_at(3, {0.1 - 0.04, 0.7, 0.8});          // y of the hand is -x of the world
  expect_at(4, {0.1 + 0.01 + 0.029, 0.7, 0.8});  // -0.01 - 0.03 + 0.001 along y

  const PosedSurface surface = PoseSurface(robot, poses);
  ASSERT_EQ(surface.positions_m.size(), robot.surface.size());
  // (0.02, 0.02, 0.06) of the hand: y is -x, z is +y, x is -z of the world.
  EXPECT_NEAR(surface.positions_m[8][0], 0.1 - 0.02, 1e-7);
  EXPECT_NEAR(surface.positions_m[8][1], 0.6 + 0.06, 1e-7);
  EXPECT_NEAR(surface.positions_m[8][2], 0.8 - 0.02, 1e-7);
  EXPECT_NEAR(surface.normals[8][1], 1, 1e-7);
}

TEST(Picture, ShowsEveryLinkInAColourOfItsOwn) {
  const Robot robot = SmallRobot();
  const RgbImage image = DrawRobot(robot, RestValues(robot), {.width_px = 200, .height_px = 200});
  ASSERT_EQ(image.pixels.size(), 3u * 200 * 200);
  std::set<std::vector<std::uint8_t>> colors;
  for (std::size_t i = 0; i < image.pixels.size(); i += 3) {
    colors.insert({image.pixels.begin() + i, image.pixels.begin() + i + 3});
  }
  EXPECT_GE(colors.size(), robot.links.size() + 1);
}

}  // namespace
}  // namespace interlacer
