#include "model/network/limbs.h"

#include <ATen/Functions.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/model/gradient_check.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr int kRings = 3, kRingPoints = 4;
constexpr float kRadiusM = 0.05f;

KinematicConfig OneArm() {
  KinematicConfig robot;
  robot.arm_count = 1;
  robot.bodies_per_arm = 5;
  return robot;
}

TokenConfig Limbs(int rings = kRings) {
  TokenConfig tokens;
  tokens.limb_rings = rings;
  tokens.limb_ring_points = kRingPoints;
  tokens.limb_radius_m = kRadiusM;
  return tokens;
}

/// Two links in a right angle, then gripper base and two fingers, at three equal times.
torch::Tensor BentArm(at::ScalarType type = at::kFloat) {
  return at::tensor({0.0, 0.0, 0.0,   //
                     0.0, 0.0, 0.3,   //
                     0.3, 0.0, 0.3,   //
                     0.3, 0.02, 0.4,  //
                     0.3, -0.03, 0.4},
                    type)
      .reshape({1, 5, 3})
      .repeat({3, 1, 1});
}

TEST(LimbSurface, WithoutRingsPointsAreBodies) {
  const LimbSurface limbs(OneArm(), Limbs(0));
  const torch::Tensor arm = BentArm();
  EXPECT_TRUE(at::equal(limbs.forward(arm), arm));
  EXPECT_TRUE(at::equal(limbs.OfBodies(arm), arm));
}

TEST(LimbSurface, NoRobotHasNoPoints) {
  const LimbSurface limbs(OneArm(), Limbs());
  EXPECT_EQ(limbs.forward(at::zeros({3, 0, 3})).sizes(), (at::IntArrayRef{3, 0, 3}));
}

/// Segments 0-1, 1-2, 2-3 and 2-4: the second finger branches off the gripper too.
TEST(LimbSurface, RingsLieAroundTheirSegments) {
  const LimbSurface limbs(OneArm(), Limbs());
  const torch::Tensor arm = BentArm();
  const torch::Tensor points = limbs.forward(arm);
  ASSERT_EQ(points.sizes(), (at::IntArrayRef{3, 4 * kRings * kRingPoints, 3}));
  const int segments[4][2] = {{0, 1}, {1, 2}, {2, 3}, {2, 4}};
  for (int s = 0; s < 4; ++s) {
    const torch::Tensor from = arm[0][segments[s][0]], along = arm[0][segments[s][1]] - from;
    for (int ring = 0; ring < kRings; ++ring) {
      const torch::Tensor center = from + (ring + 0.5) / kRings * along;
      torch::Tensor sum = at::zeros({3});
      for (int point = 0; point < kRingPoints; ++point) {
        SCOPED_TRACE(::testing::Message() << "segment " << s << " ring " << ring << " " << point);
        const torch::Tensor spoke = points[0][(s * kRings + ring) * kRingPoints + point] - center;
        EXPECT_NEAR(spoke.norm().item<float>(), kRadiusM, kFloatPlaceToleranceM);
        EXPECT_NEAR(spoke.dot(along).item<float>(), 0, kFloatPlaceToleranceM);
        sum += spoke;
      }
      EXPECT_NEAR(sum.norm().item<float>(), 0, kRingPoints * kFloatPlaceToleranceM);
    }
  }
}

TEST(LimbSurface, PointsOfAnArmThatWaitsOrShiftsKeepTheirPlacesOnIt) {
  const LimbSurface limbs(OneArm(), Limbs());
  const torch::Tensor shift = at::tensor({0.f, 0.f, 0.04f}).reshape({3, 1, 1});
  const torch::Tensor points = limbs.forward(BentArm() + shift);
  EXPECT_TRUE(at::allclose(points[0], points[1], 0, kFloatPlaceToleranceM));
  EXPECT_TRUE(at::allclose(points[0] + 0.04f, points[2], 0, kFloatPlaceToleranceM));
}

/// A limb that turns by a small angle takes its points along, but for the turn's part about the
/// limb itself, 1.5 mm here. Rings that began anew at each time would be 5.9 mm off.
TEST(LimbSurface, PointsFollowATurn) {
  constexpr double kLargestSlipM = 2e-3;
  constexpr double kTurnRad = 0.1;
  const LimbSurface limbs(OneArm(), Limbs());
  torch::Tensor arm = BentArm();
  const float c = std::cos(kTurnRad), s = std::sin(kTurnRad);
  const torch::Tensor turn =
      at::tensor({c, 0.f, s, 0.f, 1.f, 0.f, -s, 0.f, c}).reshape({3, 3});  // about y
  arm[2].copy_(arm[1].matmul(turn.t()));
  const torch::Tensor points = limbs.forward(arm);
  const torch::Tensor expected = points[1].matmul(turn.t());
  const torch::Tensor slip_m = (points[2] - expected).norm(2, {-1});
  EXPECT_LT(slip_m.max().item<float>(), kLargestSlipM);
  // The links lie across the turn's axis.
  constexpr int kLinkPoints = 2 * kRings * kRingPoints;
  EXPECT_LT(slip_m.narrow(0, 0, kLinkPoints).max().item<float>(), kLargestSlipM / 10);
}

TEST(LimbSurface, BodiesInOnePlaceAndLimbsAlongTheFirstNormalStayFinite) {
  const LimbSurface limbs(OneArm(), Limbs());
  EXPECT_TRUE(at::isfinite(limbs.forward(at::zeros({3, 5, 3}))).all().item<bool>());
  const torch::Tensor along = at::arange(5, at::kFloat).reshape({1, 5, 1}) *
                              at::tensor({0.36f, 0.48f, 0.80f}).reshape({1, 1, 3});
  EXPECT_TRUE(at::isfinite(limbs.forward(along.repeat({3, 1, 1}))).all().item<bool>());
}

TEST(LimbSurface, AttributesComeFromTheBodyWhereTheSegmentBegins) {
  const LimbSurface limbs(OneArm(), Limbs());
  const torch::Tensor bodies = at::arange(5, at::kFloat).reshape({1, 5, 1});
  const torch::Tensor points = limbs.OfBodies(bodies);
  ASSERT_EQ(points.size(1), 4 * kRings * kRingPoints);
  const float first[4] = {0, 1, 2, 2};
  for (int s = 0; s < 4; ++s) {
    const torch::Tensor of_segment =
        points[0].narrow(0, s * kRings * kRingPoints, kRings * kRingPoints);
    EXPECT_TRUE((of_segment == first[s]).all().item<bool>()) << "segment " << s;
  }
}

TEST(LimbSurface, Gradient) {
  const LimbSurface limbs(OneArm(), Limbs(1));
  at::manual_seed(2);
  const torch::Tensor weight = at::randn({3, 4 * kRingPoints, 3}, at::kDouble);
  ExpectGradientsMatch(
      [&](const std::vector<torch::Tensor>& x) { return (weight * limbs.forward(x[0])).sum(); },
      {BentArm(at::kDouble) + 0.02 * at::randn({3, 5, 3}, at::kDouble)}, kDoubleGradientTolerance);
}

}  // namespace
}  // namespace interlacer::testing
