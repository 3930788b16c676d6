#include "common/camera.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

/// Unproject, then project: the statement asks for 1e-3 px, double arithmetic gives far better.
constexpr double kRoundTripPx = 1e-7;

Camera TestCamera(DistortionModel model, std::vector<double> coefficients) {
  Camera camera{640, 480, 610, 615, 317.7, 243.2, model, std::move(coefficients), {}};
  camera.world_from_camera = LookAt({1, 0.5, 0.8}, {0, 0, 0.1});
  return camera;
}

class RoundTripTest : public ::testing::TestWithParam<Camera> {};

TEST_P(RoundTripTest, UnprojectThenProjectReturnsThePixel) {
  const Camera& camera = GetParam();
  ASSERT_TRUE(ValidateCamera(camera).ok()) << ValidateCamera(camera).ToString();
  RandomSequence random(5, RandomStream::kDataGeneration);
  for (int i = 0; i < 500; ++i) {
    const double u = random.Uniform(-0.5, camera.width_px - 0.5);
    const double v = random.Uniform(-0.5, camera.height_px - 0.5);
    const double depth_m = random.Uniform(0.1, 3);
    const ProjectedPixel pixel = Project(camera, Unproject(camera, u, v, depth_m));
    ASSERT_NEAR(pixel.u_px, u, kRoundTripPx);
    ASSERT_NEAR(pixel.v_px, v, kRoundTripPx);
    ASSERT_NEAR(pixel.depth_m, depth_m, kRoundTripPx);
  }
}

std::string LensName(const ::testing::TestParamInfo<Camera>& test) {
  constexpr const char* kNames[] = {"None", "Barrel", "Pincushion", "Rational"};
  return kNames[test.index];
}

INSTANTIATE_TEST_SUITE_P(
    Lenses, RoundTripTest,
    ::testing::Values(TestCamera(DistortionModel::kNone, {}),
                      TestCamera(DistortionModel::kPlumbBob, {-0.31, 0.12, 1e-3, -7e-4, -0.02}),
                      TestCamera(DistortionModel::kPlumbBob, {0.16, -0.27, 2e-4, 1e-4, 0.1}),
                      TestCamera(DistortionModel::kRationalPolynomial,
                                 {0.6, -2.4, 6e-4, -1e-4, 1.3, 0.5, -2.2, 1.2})),
    LensName);

TEST(CameraTest, DepthIsAlongTheAxisNotTheRay) {
  Camera camera{100, 100, 50, 50, 49.5, 49.5, DistortionModel::kNone, {}, {}};
  const Vec3d point = Unproject(camera, 99.5, 49.5, 2.0);
  EXPECT_DOUBLE_EQ(point[0], 2.0);
  EXPECT_DOUBLE_EQ(point[1], 0.0);
  EXPECT_DOUBLE_EQ(point[2], 2.0);
}

TEST(CameraTest, PointsBehindHaveNegativeDepth) {
  Camera camera{100, 100, 50, 50, 49.5, 49.5, DistortionModel::kNone, {}, {}};
  EXPECT_LT(Project(camera, {0, 0, -1}).depth_m, 0);
}

TEST(CameraTest, ResizeMovesThePrincipalPointByHalfPixels) {
  const Camera camera{640, 480, 600, 600, 319.5, 239.5, DistortionModel::kNone, {}, {}};
  const Camera half = ResizedCamera(camera, 320, 240);
  EXPECT_DOUBLE_EQ(half.fx_px, 300);
  EXPECT_DOUBLE_EQ(half.cx_px, 159.5);  // (319.5 + 0.5) / 2 - 0.5
  EXPECT_DOUBLE_EQ(half.cy_px, 119.5);
  // A corner of the image stays on its ray: pixel edges, not centres, scale.
  const auto ray = UndistortPixel(camera, -0.5, -0.5);
  const auto half_ray = UndistortPixel(half, -0.5, -0.5);
  EXPECT_NEAR(ray[0], half_ray[0], 1e-15);
}

TEST(CameraTest, ResizeKeepsTheLens) {
  const Camera camera = TestCamera(DistortionModel::kPlumbBob, {-0.31, 0.12, 1e-3, -7e-4, -0.02});
  const Camera half = ResizedCamera(camera, 320, 240);
  const auto full_ray = UndistortPixel(camera, 100.5, 60.5);
  const auto half_ray = UndistortPixel(half, 50, 30);
  EXPECT_NEAR(full_ray[0], half_ray[0], 1e-9);
  EXPECT_NEAR(full_ray[1], half_ray[1], 1e-9);
}

TEST(CameraTest, BadCalibrationNamesTheField) {
  Camera camera = TestCamera(DistortionModel::kNone, {});
  camera.fy_px = -615;
  EXPECT_EQ(ValidateCamera(camera).field(), "fy_px");
  camera = TestCamera(DistortionModel::kPlumbBob, {0.1});
  EXPECT_EQ(ValidateCamera(camera).reason(), "DISTORTION_INVALID");
  EXPECT_EQ(ValidateCamera(camera).metadata().at("expected"), "5 numbers");
  camera = TestCamera(DistortionModel::kNone, {});
  camera.world_from_camera.rotation_xyzw = {0, 0, 0, 2};
  EXPECT_EQ(ValidateCamera(camera).field(), "world_from_camera.rotation_xyzw");
  camera = TestCamera(DistortionModel::kNone, {});
  camera.width_px = 0;
  EXPECT_EQ(ValidateCamera(camera).reason(), "CALIBRATION_INVALID");
}

/// 640x480 with equal focal lengths and its centre in the middle.
Camera CentredCamera(double focal_px, std::vector<double> coefficients) {
  return {640,
          480,
          focal_px,
          focal_px,
          319.5,
          239.5,
          DistortionModel::kPlumbBob,
          std::move(coefficients),
          {}};
}

TEST(CameraTest, LensThatFoldsInsideTheImageIsRefused) {
  EXPECT_EQ(ValidateCamera(TestCamera(DistortionModel::kPlumbBob, {-2.5, 0, 0, 0, 0})).reason(),
            "DISTORTION_INVALID")
      << "no ray leads to a corner";
  // Undistorting a corner finds a ray behind the turn, mirrored or on a third branch, that leads to
  // the same pixel.
  const std::vector<std::vector<double>> folded = {
      {-0.25, 0, 0, 0, 0},  {-0.3, 0, 0, 0, 0},         {-0.35, 0, 0, 0, 0},
      {-0.4, 0, 0, 0, 0},   {-0.3, 0.1, 0, 0, -0.02},   {-0.35, 0.15, 0, 0, -0.03},
      {-0.6, 0.1, 0, 0, 0}, {-0.3, 0, 0, 0, 0, 0, 0, 0}};
  for (const std::vector<double>& k : folded) {
    Camera camera = CentredCamera(400, k);
    if (k.size() == 8) camera.distortion_model = DistortionModel::kRationalPolynomial;
    EXPECT_EQ(ValidateCamera(camera).reason(), "DISTORTION_INVALID") << ::testing::PrintToString(k);
  }
  for (const double k1 : {-0.05, -0.1, 0.2}) {
    const Status status = ValidateCamera(CentredCamera(400, {k1, 0, 0, 0, 0}));
    EXPECT_TRUE(status.ok()) << status.ToString();
  }
  // The same lens before a smaller piece of its image, which ends before the turn.
  const Status status = ValidateCamera(CentredCamera(1200, {-0.6, 0.1, 0, 0, 0}));
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(CameraTest, RaysBehindTheFoldThatRiseAgainAreNotSeen) {
  // The lens turns at a radius of 0.829 and once more at 1.71, from where on it rises for good.
  const Camera camera = CentredCamera(1200, {-0.6, 0.1, 0, 0, 0});
  ASSERT_TRUE(ValidateCamera(camera).ok());
  const auto at = [&](double x, double y) { return Project(camera, {x, y, 1}).u_px; };
  EXPECT_TRUE(std::isfinite(at(0.2, 0)));
  EXPECT_TRUE(std::isfinite(at(0.5, 0))) << "outside the image, before the turn";
  EXPECT_TRUE(std::isnan(at(1.2, 0))) << "between the turns";
  EXPECT_TRUE(std::isnan(at(1.75, 0))) << "behind both, where it would be a pixel of the image";
  EXPECT_TRUE(std::isnan(at(1.3, 1.2))) << "aslant likewise";
}

TEST(CameraTest, WhatTheLensFoldsBackIntoTheImageIsNotSeen) {
  const Camera camera = TestCamera(DistortionModel::kPlumbBob, {-0.3, 0, 0, 0, 0});
  ASSERT_TRUE(ValidateCamera(camera).ok());
  const auto at = [&](double x) {
    return Project(camera, Apply(camera.world_from_camera, {x, 0, 1})).u_px;
  };
  EXPECT_TRUE(std::isfinite(at(0.2)));
  EXPECT_TRUE(std::isnan(at(1.5))) << "behind the turn, where it would be a pixel of the image";
  EXPECT_TRUE(std::isnan(at(2.0))) << "beyond it the image is mirrored";
}

}  // namespace
}  // namespace interlacer
