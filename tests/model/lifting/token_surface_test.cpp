#include "model/lifting/token_surface.h"

#include <gtest/gtest.h>

#include <map>

#include "model/config.h"
#include "robots/forward_kinematics.h"
#include "tests/robots/small_robot.h"

namespace interlacer::testing {
namespace {

/// The small robot with another number of points on each link; a point's x tells its index there.
Robot RobotWithPoints(const std::vector<int>& counts) {
  Robot robot = SmallRobot();
  robot.surface = {};
  for (std::size_t link = 0; link < counts.size(); ++link) {
    for (int i = 0; i < counts[link]; ++i) {
      robot.surface.positions_m.push_back({static_cast<float>(i), 0, 0});
      robot.surface.normals.push_back({0, 0, 1});
      robot.surface.links.push_back(static_cast<std::int64_t>(link));
    }
  }
  return robot;
}

std::map<std::int64_t, int> CountsOf(const SurfacePoints& points) {
  std::map<std::int64_t, int> counts;
  for (const std::int64_t link : points.links) ++counts[link];
  return counts;
}

TEST(ThinnedSurface, FewPointsAreAllKept) {
  const Robot robot = SmallRobot();
  EXPECT_EQ(ThinnedSurface(robot, robot.surface.size()), robot.surface);
}

TEST(ThinnedSurface, LinksShareByTheirPointsAndGiveTheirFirst) {
  const SurfacePoints thinned = ThinnedSurface(RobotWithPoints({400, 0, 200, 100, 300}), 100);
  EXPECT_EQ(CountsOf(thinned), (std::map<std::int64_t, int>{{0, 40}, {2, 20}, {3, 10}, {4, 30}}));
  std::map<std::int64_t, int> seen;
  for (std::size_t i = 0; i < thinned.size(); ++i) {
    EXPECT_EQ(thinned.positions_m[i][0], static_cast<float>(seen[thinned.links[i]]++));
  }
}

TEST(ThinnedSurface, RemaindersGoToTheLargestAndTiesToTheLowerLink) {
  // Shares of 10 among 7, 7, 7 and 6 of 27: 2.59, 2.59, 2.59, 2.22.
  const SurfacePoints thinned = ThinnedSurface(RobotWithPoints({7, 7, 7, 6}), 10);
  EXPECT_EQ(CountsOf(thinned), (std::map<std::int64_t, int>{{0, 3}, {1, 3}, {2, 2}, {3, 2}}));
}

TEST(ThinnedSurface, NeverMoreThanAsked) {
  for (const int count : {1299, 1300, 1301, 5000}) {
    const Robot robot = RobotWithPoints({count, 3, 1, 0, 777});
    EXPECT_EQ(ThinnedSurface(robot, kMaxSurfaceTokens).size(),
              std::min<std::size_t>(kMaxSurfaceTokens, robot.surface.size()));
  }
}

TEST(TokenSurface, LiesWhereTheLinksAreAndKnowsTheGripper) {
  const Robot robot = SmallRobot();
  std::vector<std::vector<Transform>> poses;
  for (const auto& joints : std::vector<std::vector<double>>{{0, 0, 0}, {0.5, 0.2, 0.01}}) {
    poses.push_back(LinkPoses(robot, joints));
  }
  const TokenSurface surface = PoseTokenSurface(robot, poses);
  ASSERT_EQ(surface.point_count, 15);
  ASSERT_EQ(surface.points_m.size(), 2u * 15 * 3);
  for (std::size_t time = 0; time < 2; ++time) {
    const PosedSurface posed = PoseSurface(robot, poses[time]);
    for (std::size_t i = 0; i < 15; ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        const std::size_t at = 3 * (15 * time + i) + axis;
        EXPECT_EQ(surface.points_m[at], static_cast<float>(posed.positions_m[i][axis]));
        EXPECT_EQ(surface.normals[at], static_cast<float>(posed.normals[i][axis]));
      }
    }
  }
  for (std::size_t i = 0; i < 15; ++i) {
    EXPECT_EQ(surface.is_gripper[i], robot.surface.links[i] >= 2 ? 1.f : 0.f);
  }
}

}  // namespace
}  // namespace interlacer::testing
