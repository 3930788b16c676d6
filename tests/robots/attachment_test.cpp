#include "robots/attachment.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "common/random.h"
#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "tests/robots/small_robot.h"

namespace interlacer {
namespace {

constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr int kRandomPoints = 4000;

double ReachM(LinkPart part, const AttachOptions& options) {
  switch (part) {
    case LinkPart::kFinger:
      return options.finger_radius_m;
    case LinkPart::kGripper:
      return (options.radius_m + 2 * options.finger_radius_m) / 3;
    case LinkPart::kBody:
      break;
  }
  return options.radius_m;
}

/// The slow twin: every surface point is looked at.
std::int32_t NearestLink(const Robot& robot, const PosedSurface& surface, const float* p,
                         const AttachOptions& options) {
  double best_m = std::numeric_limits<double>::infinity();
  std::int32_t link = kNotAttached;
  for (std::size_t i = 0; i < surface.positions_m.size(); ++i) {
    double sq_m2 = 0, across_m = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double d = p[axis] - surface.positions_m[i][axis];
      sq_m2 += d * d;
      across_m += d * surface.normals[i][axis];
    }
    const auto candidate = static_cast<std::int32_t>(robot.surface.links[i]);
    const bool is_finger = robot.links[candidate].part == LinkPart::kFinger;
    const double factor = is_finger ? 1 : kAcrossFactor;
    const double distance_m = std::sqrt(sq_m2 + (factor * factor - 1) * across_m * across_m);
    if (distance_m > ReachM(robot.links[candidate].part, options) || distance_m >= best_m) continue;
    best_m = distance_m;
    link = candidate;
  }
  return link;
}

TEST(Attachment, EqualsASearchOverAllSurfacePoints) {
  const Robot robot = testing::SmallRobot();
  const std::vector<Transform> poses = LinkPoses(robot, std::vector<double>{0.4, -1.2, 0.02});
  const PosedSurface surface = PoseSurface(robot, poses);
  RandomSequence random(3, RandomStream::kDataGeneration);
  std::vector<float> points;
  for (int i = 0; i < kRandomPoints; ++i) {
    const Vec3d& near_m = surface.positions_m[random.Below(surface.positions_m.size())];
    for (int axis = 0; axis < 3; ++axis) {
      points.push_back(static_cast<float>(near_m[axis] + random.Uniform(-0.03, 0.03)));
    }
  }
  for (const AttachOptions& options : {AttachOptions(), AttachOptions{0.03, 0.002}}) {
    const std::vector<std::int32_t> links = AttachPoints(robot, poses, points, options);
    ASSERT_EQ(links.size(), static_cast<std::size_t>(kRandomPoints));
    int attached = 0;
    for (int i = 0; i < kRandomPoints; ++i) {
      EXPECT_EQ(links[i], NearestLink(robot, surface, points.data() + 3 * i, options)) << i;
      attached += links[i] != kNotAttached;
    }
    EXPECT_GT(attached, kRandomPoints / 100);
    EXPECT_LT(attached, kRandomPoints);
  }
}

TEST(Attachment, NoPointsAndPointsThatAreNotFinite) {
  const Robot robot = testing::SmallRobot();
  const std::vector<Transform> poses = LinkPoses(robot, std::vector<double>(3, 0.0));
  EXPECT_TRUE(AttachPoints(robot, poses, {}).empty());
  const std::vector<float> points = {kNotANumber, 0, 0, 0, kInfinity, 0, 0, 0, -1e30f};
  EXPECT_EQ(AttachPoints(robot, poses, points), std::vector<std::int32_t>(3, kNotAttached));
}

TEST(Attachment, OfEquallyNearLinksTheFirstSurfacePointWins) {
  Robot robot = testing::SmallRobot();
  robot.surface = {{{0, 0, 0}, {0, 0, 0}}, {{0, 0, 1}, {0, 0, 1}}, {0, 1}};
  const std::vector<Transform> poses(robot.links.size());
  const std::vector<float> points = {0.005f, 0, 0};
  EXPECT_EQ(AttachPoints(robot, poses, points), std::vector<std::int32_t>{0});
  robot.surface.links = {1, 0};
  EXPECT_EQ(AttachPoints(robot, poses, points), std::vector<std::int32_t>{1});
}

TEST(Attachment, CarriedPointsGoWithTheirLinkAndOthersKeepTheirBits) {
  const std::vector<Transform> from = {{{1, 2, 3}, YawQuaternion(0.3)}, {{0, 1, 0}, {0, 0, 0, 1}}};
  std::vector<Transform> to = from;
  to[0] = {{-1, 0.5, 2}, YawQuaternion(-1.1)};
  const std::vector<float> points = {0.1f, 0.2f, 0.3f, 1.1f, 1.2f, 1.3f, 2.1f, 2.2f, 2.3f};
  const std::vector<std::int32_t> links = {0, 1, kNotAttached};
  std::vector<float> carried(points.size());
  CarryPoints(links, from, to, points, carried);
  const Vec3d expected = Apply(to[0], Apply(Inverse(from[0]), {points[0], points[1], points[2]}));
  for (int axis = 0; axis < 3; ++axis) EXPECT_NEAR(carried[axis], expected[axis], 1e-6);
  for (std::size_t i = 3; i < points.size(); ++i) EXPECT_EQ(carried[i], points[i]);
}

}  // namespace
}  // namespace interlacer
