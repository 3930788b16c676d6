#include "render/rays.h"

#include <gtest/gtest.h>

#include <cmath>

#include "common/transforms.h"
#include "tests/support/image_rays.h"

namespace interlacer {
namespace {

Camera DistortedCamera() {
  Camera camera;
  camera.width_px = 32;
  camera.height_px = 24;
  camera.fx_px = 30;
  camera.fy_px = 31;
  camera.cx_px = 15;
  camera.cy_px = 12.5;
  camera.distortion_model = DistortionModel::kPlumbBob;
  camera.distortion_coefficients = {0.05, -0.02, 0.001, -0.002, 0.0};
  camera.world_from_camera = LookAt({0.8, -0.3, 0.9}, {0, 0, 0});
  return camera;
}

TEST(RaysTest, PointsOnRaysProjectToTheirPixels) {
  const Camera camera = DistortedCamera();
  const PixelRays rays = testing::ImageRays(camera);
  ASSERT_EQ(rays.count(), 32 * 24);
  for (std::int64_t i = 0; i < rays.count(); i += 7) {
    Vec3d point;
    double length = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double direction = rays.directions[3 * i + axis];
      point[axis] = rays.origins_m[3 * i + axis] + 1.5 * direction;
      length += direction * direction;
    }
    EXPECT_NEAR(length, 1.0, 1e-6);
    const ProjectedPixel pixel = Project(camera, point);
    EXPECT_NEAR(pixel.u_px, i % 32, 1e-3);
    EXPECT_NEAR(pixel.v_px, i / 32, 1e-3);
    EXPECT_NEAR(pixel.depth_m, 1.5 * rays.depth_per_distance[i], 1e-5);
  }
}

TEST(RaysTest, ChosenPixelsAreThoseOfTheImage) {
  const Camera camera = DistortedCamera();
  const PixelRays all = testing::ImageRays(camera);
  const std::vector<std::int64_t> pixels{700, 3};
  const PixelRays some = *MakePixelRays(camera, pixels);
  for (int axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(some.directions[axis], all.directions[3 * 700 + axis]);
    EXPECT_EQ(some.directions[3 + axis], all.directions[3 * 3 + axis]);
  }
  const std::vector<std::int64_t> outside{32 * 24};
  EXPECT_EQ(MakePixelRays(camera, outside).status().field(), "pixels[0]");
}

TEST(RaysTest, SamplesCoverTheRangeEvenly) {
  RendererConfig config;
  EXPECT_FLOAT_EQ(SampleDistance(config, 0, 0.f), config.near_m);
  EXPECT_FLOAT_EQ(SampleDistance(config, 63, 1.f), config.far_m);
  EXPECT_FLOAT_EQ(SampleDistance(config, 32, 0.f), 1.05f);
}

TEST(RaysTest, JitterIsReproducibleAndUniform) {
  const std::vector<float> jitter = DrawDepthJitter(7, 3, 500, 30);
  ASSERT_EQ(jitter.size(), 15000u);
  EXPECT_EQ(jitter, DrawDepthJitter(7, 3, 500, 30));
  EXPECT_NE(jitter, DrawDepthJitter(7, 4, 500, 30));
  EXPECT_NE(jitter, DrawDepthJitter(8, 3, 500, 30));
  // A ray keeps its draws whatever the number of rays.
  const std::vector<float> fewer = DrawDepthJitter(7, 3, 10, 30);
  EXPECT_TRUE(std::equal(fewer.begin(), fewer.end(), jitter.begin()));
  double sum = 0, squares = 0;
  for (const float xi : jitter) {
    ASSERT_GE(xi, 0.f);
    ASSERT_LT(xi, 1.f);
    sum += xi;
    squares += xi * xi;
  }
  // Four standard errors of mean and second moment.
  EXPECT_NEAR(sum / 15000, 0.5, 4 * std::sqrt(1.0 / 12 / 15000));
  EXPECT_NEAR(squares / 15000, 1.0 / 3, 4 * std::sqrt(4.0 / 45 / 15000));
}

}  // namespace
}  // namespace interlacer
