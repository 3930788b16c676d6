#include "model/training/ray_batch.h"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

namespace interlacer {
namespace {

/// A 4x3 camera at the origin; the colour of a pixel names it.
SupervisedView MakeView(std::uint8_t blue) {
  SupervisedView view;
  view.camera.width_px = 4;
  view.camera.height_px = 3;
  view.camera.fx_px = view.camera.fy_px = 4;
  view.camera.cx_px = 1.5;
  view.camera.cy_px = 1;
  view.color = {4, 3, std::vector<std::uint8_t>(36)};
  for (std::uint8_t p = 0; p < 12; ++p) {
    view.color.pixels[3 * p] = p;
    view.color.pixels[3 * p + 2] = blue;
  }
  view.depth = {4, 3, std::vector<float>(12, 0.5f)};
  view.is_supervised.assign(12, 1);
  view.is_moving.assign(12, 0);
  return view;
}

std::set<std::pair<int, int>> PixelsOf(const TrainingRays& rays) {
  std::set<std::pair<int, int>> pixels;
  for (std::int64_t r = 0; r < rays.count; ++r) {
    pixels.insert({static_cast<int>(std::lround(255 * rays.target_rgb[3 * r + 2])),
                   static_cast<int>(std::lround(255 * rays.target_rgb[3 * r]))});
  }
  return pixels;
}

TEST(RayBatch, DrawsWithoutReplacementOverAllViews) {
  const std::vector<SupervisedView> views{MakeView(100), MakeView(200)};
  const TrainingRays rays = DrawTrainingRays(views, {.ray_count = 24, .seed = 3}).value();
  EXPECT_EQ(rays.count, 24);
  EXPECT_EQ(PixelsOf(rays).size(), 24u);
}

TEST(RayBatch, MoreRaysThanPixelsGivesEveryPixelOnce) {
  const std::vector<SupervisedView> views{MakeView(100)};
  EXPECT_EQ(DrawTrainingRays(views, {.ray_count = 99}).value().count, 12);
}

TEST(RayBatch, HolesAreNeverDrawn) {
  std::vector<SupervisedView> views{MakeView(100)};
  for (int p = 0; p < 11; ++p) views[0].is_supervised[p] = 0;
  const TrainingRays rays = DrawTrainingRays(views, {.ray_count = 5}).value();
  ASSERT_EQ(rays.count, 1);
  EXPECT_FLOAT_EQ(rays.target_rgb[0], 11.0f / 255.0f);
}

TEST(RayBatch, MovingShareComesFromMovingPixels) {
  std::vector<SupervisedView> views{MakeView(100), MakeView(200)};
  views[1].is_moving[3] = views[1].is_moving[7] = 1;
  const TrainingRays rays =
      DrawTrainingRays(views, {.ray_count = 4, .moving_share = 0.5, .seed = 9}).value();
  EXPECT_EQ(rays.count, 4);
  const auto pixels = PixelsOf(rays);
  EXPECT_TRUE(pixels.contains({200, 3}));
  EXPECT_TRUE(pixels.contains({200, 7}));
}

TEST(RayBatch, DependsOnSeedDrawAndStepAlone) {
  const std::vector<SupervisedView> views{MakeView(100), MakeView(200)};
  const RayDraw draw{.ray_count = 6, .seed = 1, .draw_index = 2, .step = 3};
  const auto first = DrawTrainingRays(views, draw).value();
  EXPECT_EQ(first.target_rgb, DrawTrainingRays(views, draw).value().target_rgb);
  RayDraw other = draw;
  other.step = 4;
  EXPECT_NE(first.target_rgb, DrawTrainingRays(views, other).value().target_rgb);
}

TEST(RayBatch, DirectionsAreUnit) {
  const TrainingRays rays = DrawTrainingRays({MakeView(0)}, {.ray_count = 12}).value();
  for (std::int64_t r = 0; r < rays.count; ++r) {
    const float* d = &rays.directions[3 * r];
    EXPECT_NEAR(d[0] * d[0] + d[1] * d[1] + d[2] * d[2], 1.0f, 1e-6f);
  }
}

}  // namespace
}  // namespace interlacer
