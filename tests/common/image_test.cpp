#include "common/image.h"

#include <gtest/gtest.h>

#include <cmath>

namespace interlacer {
namespace {

RgbImage Gradient(int width_px, int height_px) {
  RgbImage image{width_px, height_px, {}};
  for (int y = 0; y < height_px; ++y) {
    for (int x = 0; x < width_px; ++x) {
      for (int c = 0; c < 3; ++c) {
        image.pixels.push_back(static_cast<std::uint8_t>((7 * x + 13 * y + 50 * c) % 256));
      }
    }
  }
  return image;
}

TEST(DepthTest, ZeroIsNoMeasurement) {
  const DepthImage depth = DepthToMeters({2, 1, 0.001, {0, 1500}});
  EXPECT_TRUE(std::isnan(depth.pixels_m[0]));
  EXPECT_FLOAT_EQ(depth.pixels_m[1], 1.5f);
}

TEST(ResizeAreaTest, HalvingAveragesFourPixels) {
  const RgbImage image{2, 2, {10, 0, 0, 20, 0, 0, 30, 0, 0, 41, 0, 255}};
  const RgbImage one = ResizeArea(image, 1, 1);
  EXPECT_EQ(one.pixels[0], 25);  // 25.25
  EXPECT_EQ(one.pixels[2], 64);  // 63.75
}

TEST(ResizeAreaTest, FractionsWeighByOverlap) {
  const RgbImage image{3, 1, {0, 0, 0, 90, 90, 90, 255, 255, 255}};
  const RgbImage two = ResizeArea(image, 2, 1);
  EXPECT_EQ(two.pixels[0], 30);   // (1 * 0 + 1/2 * 90) / 1.5
  EXPECT_EQ(two.pixels[3], 200);  // (1/2 * 90 + 1 * 255) / 1.5
}

TEST(ResizeAreaTest, SameSizeAndConstantImagesStay) {
  const RgbImage image = Gradient(9, 5);
  EXPECT_EQ(ResizeArea(image, 9, 5).pixels, image.pixels);
  const RgbImage grey{7, 3, std::vector<std::uint8_t>(63, 177)};
  for (std::uint8_t value : ResizeArea(grey, 5, 8).pixels) EXPECT_EQ(value, 177);
}

TEST(ResizeAreaTest, MatchesTheDefinition) {
  const RgbImage image = Gradient(31, 17);
  const int width = 12, height = 7;
  const RgbImage resized = ResizeArea(image, width, height);
  const auto overlap = [](double a0, double a1, double b0, double b1) {
    return std::max(0.0, std::min(a1, b1) - std::max(a0, b0));
  };
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      double sum = 0;
      for (int v = 0; v < 17; ++v) {
        for (int u = 0; u < 31; ++u) {
          sum += image.pixels[3 * (v * 31 + u)] *
                 overlap(u, u + 1, x * 31.0 / width, (x + 1) * 31.0 / width) *
                 overlap(v, v + 1, y * 17.0 / height, (y + 1) * 17.0 / height);
        }
      }
      const double mean = sum * width * height / (31.0 * 17.0);
      EXPECT_NEAR(resized.pixels[3 * (y * width + x)], mean, 0.5 + 1e-9);
    }
  }
}

TEST(ResizeNearestTest, TakesTheNearestCentreAndKeepsHoles) {
  DepthImage depth{4, 1, {1, 2, NAN, 4}};
  const DepthImage same = ResizeNearest(depth, 4, 1);
  EXPECT_EQ(same.pixels_m[3], 4);
  const DepthImage half = ResizeNearest(depth, 2, 1);
  EXPECT_EQ(half.pixels_m[0], 2);  // a tie goes to the higher index
  EXPECT_EQ(half.pixels_m[1], 4);
  const DepthImage wide = ResizeNearest(depth, 8, 1);
  EXPECT_TRUE(std::isnan(wide.pixels_m[4]));
  EXPECT_TRUE(std::isnan(wide.pixels_m[5]));
}

TEST(QuantizeTest, RoundsAndClamps) {
  const RgbImage image = QuantizeRgb({1, 2, 3, {-1, 0, 0.5f / 255, 1, 2, 0.5f}});
  EXPECT_EQ(image.pixels, (std::vector<std::uint8_t>{0, 0, 1, 255, 255, 128}));
}

}  // namespace
}  // namespace interlacer
