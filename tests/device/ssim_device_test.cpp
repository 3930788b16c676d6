#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "common/random.h"
#include "render/kernels/ssim_cuda.h"
#include "tests/device/device_array.h"

namespace interlacer::testing {
namespace {

/// Sums of the same doubles in another order.
constexpr double kSumTolerance = 1e-11;
constexpr std::uint64_t kSeed = 35;

using Image = std::vector<std::uint8_t>;

Image Noise(int width_px, int height_px, std::uint32_t which) {
  RandomSequence random(kSeed, RandomStream::kDataGeneration, which);
  Image image(static_cast<std::size_t>(3) * width_px * height_px);
  for (std::uint8_t& value : image) value = static_cast<std::uint8_t>(random.Below(256));
  return image;
}

SsimInputs Inputs(const std::uint8_t* image, const std::uint8_t* truth, int width_px) {
  SsimInputs inputs{image, truth, width_px, {}, 6.5025, 58.5225};
  double sum = 0;
  for (int i = 0; i < kSsimTaps; ++i) sum += inputs.taps[i] = std::exp(-(i - 5) * (i - 5) / 4.5);
  for (double& tap : inputs.taps) tap /= sum;
  return inputs;
}

struct Scores {
  std::vector<double> map;
  double mean;
};

/// Window by window, straight from the formula.
Scores OnHost(const Image& a, const Image& b, int width_px, int height_px) {
  const SsimInputs in = Inputs(a.data(), b.data(), width_px);
  Scores scores{{}, 0};
  for (int y = 0; y < height_px - 10; ++y) {
    for (int x = 0; x < width_px - 10; ++x) {
      double score = 0;
      for (int channel = 0; channel < 3; ++channel) {
        double mean_a = 0, mean_b = 0, aa = 0, bb = 0, ab = 0;
        for (int v = 0; v < kSsimTaps; ++v) {
          for (int u = 0; u < kSsimTaps; ++u) {
            const double weight = in.taps[v] * in.taps[u];
            const std::size_t at = 3 * ((y + v) * width_px + x + u) + channel;
            const double p = a[at], q = b[at];
            mean_a += weight * p;
            mean_b += weight * q;
            aa += weight * p * p;
            bb += weight * q * q;
            ab += weight * p * q;
          }
        }
        const double covariance = ab - mean_a * mean_b;
        const double variances = aa - mean_a * mean_a + bb - mean_b * mean_b;
        score += (2 * mean_a * mean_b + in.c1) * (2 * covariance + in.c2) /
                 ((mean_a * mean_a + mean_b * mean_b + in.c1) * (variances + in.c2)) / 3;
      }
      scores.map.push_back(score);
      scores.mean += score;
    }
  }
  scores.mean /= static_cast<double>(scores.map.size());
  return scores;
}

Scores OnDevice(const Image& a, const Image& b, int width_px, int height_px) {
  const CheckedStream stream;
  const DeviceArray<std::uint8_t> image(stream, a), truth(stream, b);
  const DeviceArray<double> map(stream, std::int64_t{width_px - 10} * (height_px - 10));
  const DeviceArray<double> mean(stream, 1);
  const DeviceArray<double> scratch(stream, SsimCudaScratchCount(width_px, height_px));
  EXPECT_EQ(LaunchSsim(Inputs(image.get(), truth.get(), width_px), height_px, map.get(), mean.get(),
                       scratch.get(), stream.get()),
            0);
  return {map.Read(), mean.Read()[0]};
}

TEST(SsimDeviceTest, EqualsTheFormulaForEverySize) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int sizes[][2] = {{11, 11}, {12, 40}, {26, 26}, {27, 43}, {61, 30}};
  for (const auto& [width_px, height_px] : sizes) {
    SCOPED_TRACE(width_px);
    const Image truth = Noise(width_px, height_px, 1);
    Image image = Noise(width_px, height_px, 2);
    for (std::size_t i = 0; i < image.size() / 2; ++i) image[i] = truth[i];
    const Scores got = OnDevice(image, truth, width_px, height_px);
    const Scores expected = OnHost(image, truth, width_px, height_px);
    ASSERT_EQ(got.map.size(), expected.map.size());
    for (std::size_t i = 0; i < expected.map.size(); ++i) {
      ASSERT_NEAR(got.map[i], expected.map[i], kSumTolerance) << i;
    }
    EXPECT_NEAR(got.mean, expected.mean, kSumTolerance);
  }
}

TEST(SsimDeviceTest, OfAnImageWithItselfIsOne) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Image flat(3 * 20 * 15, 200);
  EXPECT_NEAR(OnDevice(flat, flat, 20, 15).mean, 1, kSumTolerance);
  const Image noise = Noise(20, 15, 3);
  EXPECT_NEAR(OnDevice(noise, noise, 20, 15).mean, 1, kSumTolerance);
}

TEST(SsimDeviceTest, TheMapMayBeLeftOut) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  const Image a = Noise(30, 30, 4), b = Noise(30, 30, 5);
  const DeviceArray<std::uint8_t> image(stream, a), truth(stream, b);
  const DeviceArray<double> mean(stream, 1), scratch(stream, SsimCudaScratchCount(30, 30));
  ASSERT_EQ(LaunchSsim(Inputs(image.get(), truth.get(), 30), 30, nullptr, mean.get(), scratch.get(),
                       stream.get()),
            0);
  EXPECT_EQ(mean.Read()[0], OnDevice(a, b, 30, 30).mean);
}

TEST(SsimDeviceTest, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Image a = Noise(70, 50, 6), b = Noise(70, 50, 7);
  const Scores once = OnDevice(a, b, 70, 50), again = OnDevice(a, b, 70, 50);
  EXPECT_EQ(once.map, again.map);
  EXPECT_EQ(once.mean, again.mean);
}

TEST(SsimDeviceTest, RefusesImagesSmallerThanTheWindow) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  EXPECT_NE(LaunchSsim(Inputs(nullptr, nullptr, 10), 50, nullptr, nullptr, nullptr, stream.get()),
            0);
  EXPECT_NE(LaunchSsim(Inputs(nullptr, nullptr, 50), 10, nullptr, nullptr, nullptr, stream.get()),
            0);
}

}  // namespace
}  // namespace interlacer::testing
