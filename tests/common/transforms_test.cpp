#include "common/transforms.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

void ExpectNear(const Vec3d& a, const Vec3d& b, double tolerance = testing::kDoubleSumTolerance) {
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(a[i], b[i], tolerance) << "axis " << i;
}

/// Quarter turn about z: x becomes y.
Transform QuarterTurn() { return {{1, 2, 3}, {0, 0, std::sqrt(0.5), std::sqrt(0.5)}}; }

TEST(TransformsTest, AppliesRotationThenTranslation) {
  ExpectNear(Apply(QuarterTurn(), {1, 0, 0}), {1, 3, 3});
}

TEST(TransformsTest, InverseAndComposeCancel) {
  const Transform t = QuarterTurn();
  ExpectNear(Apply(Compose(t, Inverse(t)), {4, 5, 6}), {4, 5, 6});
  const Transform twice = Compose(t, t);
  ExpectNear(Apply(twice, {1, 0, 0}), Apply(t, Apply(t, {1, 0, 0})));
}

TEST(TransformsTest, MatrixRoundTrip) {
  const Transform t{{-1, 0.5, 2}, {0.5, -0.5, 0.5, 0.5}};
  const auto back = FromMatrix(ToMatrix(t));
  ASSERT_TRUE(back.ok());
  ExpectNear(Apply(*back, {1, 2, 3}), Apply(t, {1, 2, 3}));
}

TEST(TransformsTest, RefusesMatricesThatAreNoRotation) {
  Matrix4d mirror = ToMatrix({});
  mirror[0] = -1;
  EXPECT_EQ(FromMatrix(mirror).status().reason(), "CALIBRATION_INVALID");
  Matrix4d scaled = ToMatrix({});
  scaled[5] = 1.01;
  EXPECT_FALSE(FromMatrix(scaled).ok());
  EXPECT_TRUE(FromMatrix(scaled, 0.05).ok());
  Matrix4d not_finite = ToMatrix({});
  not_finite[3] = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(FromMatrix(not_finite).ok());
}

TEST(TransformsTest, QuaternionNormIsChecked) {
  EXPECT_TRUE(ValidateTransform({{0, 0, 0}, {0, 0, 0, 1.0009}}).ok());
  EXPECT_EQ(ValidateTransform({{0, 0, 0}, {0, 0, 0, 1.002}}).reason(), "QUATERNION_NOT_UNIT");
  EXPECT_EQ(ValidateTransform({{0, 0, 0}, {0, 0, 0, 0}}).reason(), "QUATERNION_NOT_UNIT");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(ValidateTransform({{0, 0, 0}, {nan, 0, 0, 1}}).reason(), "QUATERNION_NOT_UNIT");
  EXPECT_EQ(ValidateTransform({{nan, 0, 0}, {0, 0, 0, 1}}).reason(), "CALIBRATION_INVALID");
}

TEST(TransformsTest, LookAtHasOpticalAxes) {
  const Transform world_from_camera = LookAt({2, 0, 1}, {0, 0, 1});
  ExpectNear(Apply(world_from_camera, {0, 0, 2}), {0, 0, 1});  // forward hits the target
  EXPECT_LT(Apply(world_from_camera, {0, 1, 0})[2], 1);        // y points down
  ExpectNear(Apply(world_from_camera, {1, 0, 0}), {2, 1, 1});  // x points right
}

TEST(TransformsTest, LookAtAlongUpIsStillARotation) {
  const Transform down = LookAt({0, 0, 2}, {0, 0, 0});
  EXPECT_TRUE(ValidateTransform(down).ok());
  ExpectNear(Apply(down, {0, 0, 2}), {0, 0, 0});
}

TEST(TransformsTest, InterpolatesOnTheShortWay) {
  const Transform a, b = QuarterTurn();
  const Transform half = Interpolate(a, b, 0.5);
  ExpectNear(half.translation_m, {0.5, 1, 1.5});
  ExpectNear(Apply({{0, 0, 0}, half.rotation_xyzw}, {1, 0, 0}),
             {std::sqrt(0.5), std::sqrt(0.5), 0});
  Transform negated = b;  // the same rotation with the other sign
  for (double& q : negated.rotation_xyzw) q = -q;
  ExpectNear(Apply(Interpolate(a, negated, 0.5), {1, 0, 0}), Apply(half, {1, 0, 0}));
}

TEST(BoxTest, ValidatesAndMeasures) {
  const Box box{{-1, 0, 0}, {1, 1, 4}};
  EXPECT_TRUE(ValidateBox(box, 10).ok());
  EXPECT_EQ(ValidateBox(box, 3).field(), "workspace.z");
  EXPECT_EQ(ValidateBox({{0, 0, 0}, {1, 0, 1}}, 10).field(), "workspace.y");
  ExpectNear(BoxCenter(box), {0, 0.5, 2});
  EXPECT_EQ(LargestHalfExtent(box), 2);
  EXPECT_TRUE(HaveOneScale(box, {{3, 0, 0}, {7.3, 1, 1}}));  // 4.3 m instead of 4
  for (const double side_m : {3.5, 4.5}) {
    const Box other{{0, 0, 0}, {1, side_m, 1}};
    EXPECT_FALSE(HaveOneScale(box, other) || HaveOneScale(other, box)) << side_m;
  }
  EXPECT_TRUE(Contains(box, {-1, 0, 4}));
  EXPECT_FALSE(Contains(box, {0, 0, std::numeric_limits<float>::quiet_NaN()}));
}

}  // namespace
}  // namespace interlacer
