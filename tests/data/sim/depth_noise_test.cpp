#include "data/sim/depth_noise.h"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/tolerances.h"

namespace interlacer::sim {
namespace {

constexpr double kDeviationM = 0.002;

DepthImage16 Flat(std::uint16_t value) {
  return {200, 200, 1e-4, std::vector<std::uint16_t>(200 * 200, value)};
}

double DeviationM(const DepthImage16& depth, double mean_m) {
  double sum = 0;
  for (const std::uint16_t pixel : depth.pixels) sum += std::pow(pixel * depth.unit_m - mean_m, 2);
  return std::sqrt(sum / static_cast<double>(depth.pixels.size()));
}

TEST(DepthNoiseTest, GrowsWithTheSquareOfDepth) {
  for (const double z_m : {1.0, 2.0}) {
    DepthImage16 depth = Flat(static_cast<std::uint16_t>(z_m * 1e4));
    AddDepthNoise(1, 0, 0, kDeviationM, depth);
    const double expected_m = kDeviationM * z_m * z_m;
    EXPECT_NEAR(DeviationM(depth, z_m), expected_m, testing::kDeviationTolerance * expected_m);
  }
}

TEST(DepthNoiseTest, DrawsDependOnSeedStepAndCameraOnly) {
  const auto noisy = [](std::uint64_t seed, int step, int camera) {
    DepthImage16 depth = Flat(10000);
    AddDepthNoise(seed, step, camera, kDeviationM, depth);
    return depth.pixels;
  };
  EXPECT_EQ(noisy(1, 2, 1), noisy(1, 2, 1));
  EXPECT_NE(noisy(1, 2, 1), noisy(2, 2, 1));
  EXPECT_NE(noisy(1, 2, 1), noisy(1, 3, 1));
  EXPECT_NE(noisy(1, 2, 1), noisy(1, 2, 0));
}

TEST(DepthNoiseTest, LosesPixelsAtSilhouettesOnly) {
  DepthImage16 depth = Flat(10000);
  for (int row = 0; row < 200; ++row) {
    for (int column = 100; column < 200; ++column) depth.pixels[row * 200 + column] = 15000;
  }
  AddDepthNoise(3, 0, 0, kDeviationM, depth);
  int lost = 0;
  for (int i = 0; i < 200 * 200; ++i) {
    if (depth.pixels[i] != 0) continue;
    ++lost;
    EXPECT_TRUE(i % 200 == 99 || i % 200 == 100);
  }
  EXPECT_GT(lost, 100);
}

TEST(DepthNoiseTest, ZeroDeviationAndHolesStayAsTheyAre) {
  DepthImage16 exact = Flat(10000);
  AddDepthNoise(1, 0, 0, 0, exact);
  EXPECT_EQ(exact.pixels, Flat(10000).pixels);
  DepthImage16 holes = Flat(0);
  AddDepthNoise(1, 0, 0, kDeviationM, holes);
  EXPECT_EQ(holes.pixels, Flat(0).pixels);
}

}  // namespace
}  // namespace interlacer::sim
