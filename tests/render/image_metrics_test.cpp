#include "render/image_metrics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "common/random.h"
#include "render/cpu_kernels.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

template <typename Value>
RgbImage MakeImage(int width, int height, Value value) {
  RgbImage image{width, height, {}};
  for (int i = 0; i < height; ++i) {
    for (int j = 0; j < width; ++j) {
      for (int c = 0; c < 3; ++c) image.pixels.push_back(static_cast<std::uint8_t>(value(i, j, c)));
    }
  }
  return image;
}

RgbImage FirstA() {
  return MakeImage(32, 24, [](int i, int j, int c) { return (7 * i + 13 * j + 29 * c) % 256; });
}
RgbImage FirstB() {
  return MakeImage(32, 24, [](int i, int j, int c) {
    return 3 * ((7 * i + 13 * j + 29 * c) % 256) / 4 + (5 * i + 3 * j) % 16 + 20;
  });
}

TEST(SsimTest, GoldenScores) {
  EXPECT_NEAR(*SsimWangRgbV1(FirstA(), FirstB()), 0.939072402834, testing::kGoldenScoreTolerance);
  const auto ramp = [](int shift) {
    return MakeImage(32, 24,
                     [=](int i, int j, int c) { return (8 * i + 3 * (j + shift) + 40 * c) % 256; });
  };
  EXPECT_NEAR(*SsimWangRgbV1(ramp(0), ramp(1)), 0.937400101283, testing::kGoldenScoreTolerance);
  const auto flat = [](int value) {
    return MakeImage(16, 16, [=](int, int, int) { return value; });
  };
  EXPECT_NEAR(*SsimWangRgbV1(flat(100), flat(110)), 0.995476444091, testing::kGoldenScoreTolerance);
}

/// The definition, pixel by pixel over the whole window, without separating it.
double SlowSsim(const RgbImage& a, const RgbImage& b, int x0, int y0) {
  double score = 0;
  for (int c = 0; c < 3; ++c) {
    double weight_sum = 0, mx = 0, my = 0, xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < kSsimWindowPx; ++i) {
      for (int j = 0; j < kSsimWindowPx; ++j) {
        const double w = std::exp(-((i - 5) * (i - 5) + (j - 5) * (j - 5)) / 4.5);
        const double x = a.pixels[3 * ((y0 + i) * a.width_px + x0 + j) + c];
        const double y = b.pixels[3 * ((y0 + i) * b.width_px + x0 + j) + c];
        weight_sum += w, mx += w * x, my += w * y, xx += w * x * x, yy += w * y * y;
        xy += w * x * y;
      }
    }
    mx /= weight_sum, my /= weight_sum;
    const double vx = xx / weight_sum - mx * mx, vy = yy / weight_sum - my * my;
    const double cov = xy / weight_sum - mx * my;
    score += (2 * mx * my + 6.5025) * (2 * cov + 58.5225) /
             ((mx * mx + my * my + 6.5025) * (vx + vy + 58.5225)) / 3;
  }
  return score;
}

class SsimSizes : public ::testing::TestWithParam<std::pair<int, int>> {};

TEST_P(SsimSizes, MapIsTheDefinitionOnEveryWindow) {
  const auto [width, height] = GetParam();
  RandomSequence random(7, RandomStream::kDataGeneration, 0);
  const auto noise = [&](int, int, int) { return static_cast<int>(256 * random.Uniform()); };
  const RgbImage a = MakeImage(width, height, noise), b = MakeImage(width, height, noise);
  for (const RenderKernels* kernels :
       {&PortableRenderKernels(), Avx2RenderKernels(), Avx512RenderKernels()}) {
    if (kernels == nullptr) continue;
    const SsimMap map = *ComputeSsimMap(a, b, *kernels);
    for (int y = 0; y < map.height_px; ++y) {
      for (int x = 0; x < map.width_px; ++x) {
        ASSERT_NEAR(map.values[y * map.width_px + x], SlowSsim(a, b, x, y),
                    testing::kGoldenScoreTolerance)
            << kernels->instruction_set << " at " << x << "," << y;
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(WidthAndHeight, SsimSizes,
                         ::testing::Values(std::pair{11, 11}, std::pair{12, 40}, std::pair{33, 11},
                                           std::pair{30, 90}),
                         [](const auto& test) {
                           return std::to_string(test.param.first) + "x" +
                                  std::to_string(test.param.second);
                         });

TEST(SsimTest, EqualImagesScoreOneAndOrderDoesNotMatter) {
  EXPECT_NEAR(*SsimWangRgbV1(FirstA(), FirstA()), 1.0, testing::kGoldenScoreTolerance);
  EXPECT_NEAR(*SsimWangRgbV1(FirstA(), FirstB()), *SsimWangRgbV1(FirstB(), FirstA()),
              testing::kGoldenScoreTolerance);
}

TEST(SsimTest, FloatImagesAreQuantised) {
  const auto to_float = [](const RgbImage& image, float nudge) {
    FloatImage result{image.width_px, image.height_px, 3, {}};
    for (const std::uint8_t value : image.pixels) result.pixels.push_back((value + nudge) / 255.f);
    return result;
  };
  EXPECT_EQ(*SsimWangRgbV1(to_float(FirstA(), 0.3f), to_float(FirstB(), -0.3f)),
            *SsimWangRgbV1(FirstA(), FirstB()));
  FloatImage broken = to_float(FirstA(), 0.f);
  broken.pixels[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(SsimWangRgbV1(broken, to_float(FirstB(), 0.f)).status().reason(), reason::NOT_FINITE);
}

TEST(SsimTest, RefusesSmallAndUnequalImages) {
  const auto flat = [](int width, int height) {
    return MakeImage(width, height, [](int, int, int) { return 9; });
  };
  EXPECT_EQ(SsimWangRgbV1(flat(10, 40), flat(10, 40)).status().reason(),
            reason::IMAGE_SIZE_MISMATCH);
  EXPECT_EQ(SsimWangRgbV1(flat(20, 40), flat(40, 20)).status().reason(),
            reason::IMAGE_SIZE_MISMATCH);
  EXPECT_NEAR(*SsimWangRgbV1(flat(11, 11), flat(11, 11)), 1.0, testing::kGoldenScoreTolerance);
}

TEST(MaskedSsimTest, FullMaskIsThePlainScore) {
  const SsimMap map = *ComputeSsimMap(FirstA(), FirstB());
  EXPECT_EQ(map.width_px, 22);
  EXPECT_EQ(map.height_px, 14);
  const PixelMask full{32, 24, std::vector<std::uint8_t>(32 * 24, 1)};
  EXPECT_NEAR(**MaskedSsim(map, full), 0.939072402834, testing::kGoldenScoreTolerance);
}

TEST(MaskedSsimTest, CountsOnlyTheMaskAndRefusesTooFewPixels) {
  const SsimMap map = *ComputeSsimMap(FirstA(), FirstB());
  PixelMask mask{32, 24, std::vector<std::uint8_t>(32 * 24, 0)};
  double sum = 0;
  for (int i = 0; i < 100; ++i) {
    mask.pixels[(5 + i / 20) * 32 + 5 + i % 20] = 1;
    sum += map.values[(i / 20) * 22 + i % 20];
  }
  EXPECT_NEAR(**MaskedSsim(map, mask), sum / 100, testing::kGoldenScoreTolerance);
  mask.pixels[5 * 32 + 5] = 0;
  mask.pixels[0] = 1;  // in the border, where no window fits
  EXPECT_FALSE(MaskedSsim(map, mask)->has_value());
  EXPECT_FALSE(MaskedSsim(map, PixelMask{10, 10, {}}).ok());
}

TEST(PsnrTest, GoldenScoreAndEqualImages) {
  EXPECT_NEAR(**PsnrRgb8V1(FirstA(), FirstB()), 22.204410467323, testing::kGoldenScoreTolerance);
  EXPECT_FALSE(PsnrRgb8V1(FirstA(), FirstA())->has_value());
}

TEST(MovingMaskTest, ThresholdAndGrowth) {
  const RgbImage before = MakeImage(40, 30, [](int, int, int) { return 100; });
  RgbImage truth = before;
  truth.pixels[3 * (10 * 40 + 20) + 1] = 116;
  truth.pixels[3 * (25 * 40 + 5) + 2] = 115;  // one below the threshold
  const PixelMask mask = *MovingMask(truth, before);
  int count = 0;
  for (int y = 0; y < 30; ++y) {
    for (int x = 0; x < 40; ++x) {
      const bool expected = std::abs(y - 10) <= 5 && std::abs(x - 20) <= 5;
      EXPECT_EQ(mask.pixels[y * 40 + x], expected) << x << "," << y;
      count += mask.pixels[y * 40 + x];
    }
  }
  EXPECT_EQ(count, 121);
}

TEST(WorkspaceMaskTest, NeedsAValidDepthInsideTheBox) {
  Camera camera;
  camera.width_px = 3;
  camera.height_px = 1;
  camera.fx_px = camera.fy_px = 1;
  camera.cx_px = 1;
  DepthImage depth{3, 1, {1.f, NAN, 3.f}};
  const Box box{{-1.5, -1, 0}, {1.5, 1, 2}};
  EXPECT_EQ(WorkspaceMask(camera, depth, box)->pixels, (std::vector<std::uint8_t>{1, 0, 0}));
}

TEST(DepthMetricTest, MeanWhereBothAreValid) {
  const DepthImage a{4, 1, {1.f, 2.f, NAN, 0.f}}, b{4, 1, {1.5f, 1.75f, 1.f, 1.f}};
  EXPECT_DOUBLE_EQ(**DepthAbsMV1(a, b), 0.375);
  EXPECT_FALSE(DepthAbsMV1(DepthImage{1, 1, {NAN}}, DepthImage{1, 1, {1.f}})->has_value());
}

}  // namespace
}  // namespace interlacer
