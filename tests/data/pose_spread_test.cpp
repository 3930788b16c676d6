/// Spreads of poses against slow twins that compare each with each.

#include "data/pose_spread.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr PoseLimits kSame{0.005, 0.01}, kFar{0.2, 0.25};
/// In units of kFar: a pose and the one that stands for it are both near a third one by kSame.
constexpr double kStandIn =
    2 * std::max(kSame.distance_m / kFar.distance_m, kSame.turn_rad / kFar.turn_rad);

/// Poses in a box of `size_m` that turn by up to `turn_rad`.
std::vector<Transform> Scattered(std::size_t count, double size_m, double turn_rad, int seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> share(-0.5, 0.5);
  std::vector<Transform> poses;
  for (std::size_t i = 0; i < count; ++i) {
    const Transform yaw{{size_m * share(random), size_m * share(random), size_m * share(random)},
                        YawQuaternion(turn_rad * share(random))};
    const double half = turn_rad * share(random) / 2;
    poses.push_back(Compose(yaw, {{}, {std::sin(half), 0, 0, std::cos(half)}}));
  }
  return poses;
}

std::vector<Transform> SlowDistinct(const std::vector<Transform>& poses) {
  std::vector<Transform> distinct;
  for (const Transform& pose : poses) {
    if (std::none_of(distinct.begin(), distinct.end(),
                     [&](const Transform& known) { return IsNear(known, pose, kSame); })) {
      distinct.push_back(pose);
    }
  }
  return distinct;
}

double SlowDistance(const std::vector<Transform>& poses) {
  double most_m = 0;
  for (const Transform& a : poses) {
    for (const Transform& b : poses) {
      most_m = std::max(most_m, DistanceM(a.translation_m, b.translation_m));
    }
  }
  return most_m;
}

/// How far apart, in units of kFar, the farthest are; 0: none is far.
double SlowFarthest(const std::vector<TimedPose>& poses, std::int64_t session_ns) {
  double most = 0;
  for (const TimedPose& a : poses) {
    for (const TimedPose& b : poses) {
      if (std::abs(a.time_ns - b.time_ns) > session_ns || IsNear(a.pose, b.pose, kFar)) continue;
      most =
          std::max({most, DistanceM(a.pose.translation_m, b.pose.translation_m) / kFar.distance_m,
                    TurnRad(a.pose, b.pose) / kFar.turn_rad});
    }
  }
  return most;
}

TEST(PoseSpread, DistinctPosesAreThoseOfTheSlowTwin) {
  for (const double size_m : {0.01, 0.05, 1.0}) {
    // About zero, so that cells of negative places count too.
    const auto poses = Scattered(500, size_m, 0.03, 1);
    DistinctPoses fast(kSame);
    for (const Transform& pose : poses) fast.Add(pose);
    const auto slow = SlowDistinct(poses);
    ASSERT_EQ(fast.poses().size(), slow.size()) << size_m;
    for (std::size_t i = 0; i < slow.size(); ++i) {
      EXPECT_EQ(fast.poses()[i].translation_m, slow[i].translation_m);
    }
  }
}

TEST(PoseSpread, FewPosesAreExactAndManyNearlySo) {
  const auto few = Scattered(kMostCompared, 0.5, 0.4, 2);
  EXPECT_EQ(SpreadOf(few).distance_m, SlowDistance(few));
  for (int seed = 3; seed < 10; ++seed) {
    const auto many = Scattered(kMostCompared + 500, 0.5, 0.4, seed);
    const PoseSpread spread = SpreadOf(many);
    const double exact_m = SlowDistance(many);
    EXPECT_LE(spread.distance_m, exact_m);
    EXPECT_GE(spread.distance_m, 0.88 * exact_m);
    double exact_rad = 0;
    for (const Transform& pose : many) exact_rad = std::max(exact_rad, TurnRad(many[0], pose));
    EXPECT_GE(spread.turn_rad, 0.88 * exact_rad);
  }
  EXPECT_EQ(SpreadOf({}).distance_m, 0);
}

TEST(PoseSpread, TheFarthestOfASessionIsThatOfTheSlowTwin) {
  int found_count = 0;
  for (int seed = 1; seed <= 40; ++seed) {
    std::mt19937 random(seed);
    std::vector<TimedPose> poses;
    // From boxes in which none is far to those in which some are.
    const double size = 0.1 + 0.004 * seed;
    for (const Transform& pose : Scattered(kMostRemembered, size, size, seed)) {
      poses.push_back({static_cast<std::int64_t>(random() % 1000), pose});
    }
    const double expected = SlowFarthest(poses, 30);
    const auto pair = FarthestWithin(poses, 30, kFar, kSame);
    if (!pair) {
      EXPECT_LE(expected, 1 + kStandIn) << seed;
      continue;
    }
    ++found_count;
    const auto& [a, b] = *pair;
    EXPECT_LE(poses[a].time_ns, poses[b].time_ns);
    const double found = SlowFarthest({poses[a], poses[b]}, 30);
    EXPECT_LE(found, expected) << seed;
    EXPECT_GE(found, expected - kStandIn) << seed;
  }
  EXPECT_GT(found_count, 5);
  EXPECT_LT(found_count, 40);
}

TEST(PoseSpread, OneThatCreepsAwayInStepsOfNothingIsFound) {
  std::vector<TimedPose> poses;
  for (int i = 0; i < 100; ++i) poses.push_back({i, {{0.004 * i, 0, 0}, {0, 0, 0, 1}}});
  const auto pair = FarthestWithin(poses, 1000, kFar, kSame);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->second, 99u);
  EXPECT_LE(pair->first, 1u);
}

TEST(PoseSpread, OneThatStandsElsewhereAmongManyIsFound) {
  std::vector<TimedPose> poses;
  for (const Transform& pose : Scattered(20000, 0.05, 0.05, 1)) poses.push_back({0, pose});
  EXPECT_FALSE(FarthestWithin(poses, 0, kFar, kSame));
  poses[12345].pose.translation_m[0] += 0.4;
  const auto pair = FarthestWithin(poses, 0, kFar, kSame);
  ASSERT_TRUE(pair);
  EXPECT_EQ(pair->second, 12345u);
}

}  // namespace
}  // namespace interlacer
