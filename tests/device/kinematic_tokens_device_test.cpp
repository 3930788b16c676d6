#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "model/kernels/kinematic_tokens_cuda.h"
#include "tests/device/device_array.h"
#include "tests/model/kernels/kinematic_tokens_problem.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

KinematicNumbers OnDevice(const KinematicTokensProblem& problem) {
  const CheckedStream stream;
  const DeviceArray<float> bodies_m(stream, problem.bodies_m), shares(stream, problem.shares),
      cosines_m(stream, problem.cosines_m), sines_m(stream, problem.sines_m);
  KinematicTokens tokens = problem.tokens;
  tokens.bodies_m = bodies_m.get();
  tokens.rings.shares = shares.get();
  tokens.rings.cosines_m = cosines_m.get();
  tokens.rings.sines_m = sines_m.get();
  const std::int64_t count = kRobotTimes * KinematicPointCount(tokens);
  const DeviceArray<float> points_m(stream, 3 * count);
  const DeviceArray<float> rows(stream, count * KinematicTokenWidth(tokens));
  EXPECT_EQ(LaunchKinematicTokens(tokens, {points_m.get(), rows.get()}, stream.get()), 0);
  return {points_m.Read(), rows.Read()};
}

class KinematicTokensDeviceTest : public ::testing::TestWithParam<KinematicShape> {};
INSTANTIATE_TEST_SUITE_P(Robots, KinematicTokensDeviceTest, ::testing::ValuesIn(kKinematicShapes),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(KinematicTokensDeviceTest, FollowsTheCpu) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int octaves : {0, 8}) {
    const KinematicTokensProblem problem(GetParam(), octaves);
    const KinematicNumbers expected = KinematicTokensOnHost(problem.tokens, SerialFor);
    const KinematicNumbers got = OnDevice(problem);
    EXPECT_LE(RelativeL2(got.points_m, expected.points_m), kKinematicPointTolerance);
    EXPECT_LE(RelativeL2(got.rows, expected.rows), kKinematicRowTolerance);
    EXPECT_EQ(got, OnDevice(problem));
  }
}

/// Coincident bodies, and limbs parallel to the direction in which rings start.
TEST_P(KinematicTokensDeviceTest, LimbsWithoutADirectionAreFinite) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  KinematicTokensProblem problem(GetParam());
  std::fill(problem.bodies_m.begin(), problem.bodies_m.end(), 0.25F);
  const KinematicNumbers at_one_place = OnDevice(problem);
  EXPECT_TRUE(AllFinite(at_one_place.points_m));
  EXPECT_LE(RelativeL2(at_one_place.rows, KinematicTokensOnHost(problem.tokens, SerialFor).rows),
            kKinematicRowTolerance);
  for (std::size_t i = 0; i < problem.bodies_m.size(); ++i) {
    problem.bodies_m[i] = static_cast<float>(i / 3) * problem.tokens.rings.first_normal[i % 3];
  }
  const KinematicNumbers along = OnDevice(problem);
  EXPECT_TRUE(AllFinite(along.points_m));
  EXPECT_TRUE(AllFinite(along.rows));
}

/// The sixth of the arm's ten bodies is a link, so it affects neither the fingers nor the first
/// link.
TEST(KinematicTokensDevice, NanStaysWithItsBody) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  KinematicTokensProblem problem({"", 1, 10, 2, 5});
  problem.bodies_m[3 * 5 + 1] = NAN;
  const KinematicNumbers got = OnDevice(problem);
  const KinematicNumbers expected = KinematicTokensOnHost(problem.tokens, SerialFor);
  ASSERT_EQ(got.rows.size(), expected.rows.size());
  for (std::size_t i = 0; i < got.rows.size(); ++i) {
    ASSERT_EQ(std::isnan(got.rows[i]), std::isnan(expected.rows[i])) << i;
  }
  EXPECT_FALSE(std::isnan(got.points_m[0]));
}

TEST(KinematicTokensDevice, RefusesArmsWithoutFingers) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  KinematicTokens tokens;
  tokens.arm_count = 1;
  tokens.bodies_per_arm = 2;
  EXPECT_NE(LaunchKinematicTokens(tokens, {}, stream.get()), 0);
}

}  // namespace
}  // namespace interlacer::testing
