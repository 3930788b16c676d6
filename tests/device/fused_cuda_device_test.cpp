#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "tests/device/fused_layers_on_device.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

/// Linear attention over all rows, with the rounding of the kernels.
std::vector<double> LinearUpdate(const Layers& l, const std::vector<float>& h) {
  const std::vector<double> normed = Rounded(NormReference(h, l.width, l.scale, l.bias));
  const std::vector<double> q = DenseReference(normed, RoundedLayer(l.query));
  std::vector<double> k = DenseReference(normed, RoundedLayer(l.key));
  for (double& x : k) x = PhiOf(x);
  k = Rounded(k);
  const std::vector<double> v = Rounded(DenseReference(normed, RoundedLayer(l.value)));
  const int head_width = l.width / kFusedHeads;
  const std::int64_t n = static_cast<std::int64_t>(h.size()) / l.width;
  std::vector<double> mixed(h.size());
  for (int first = 0; first < l.width; first += head_width) {
    std::vector<double> state(head_width * head_width), z(head_width);
    for (std::int64_t j = 0; j < n; ++j) {
      for (int a = 0; a < head_width; ++a) {
        const double key = k[j * l.width + first + a] / static_cast<double>(n);
        z[a] += key;
        for (int b = 0; b < head_width; ++b) {
          state[a * head_width + b] += key * v[j * l.width + first + b];
        }
      }
    }
    state = Rounded(state);
    for (std::int64_t i = 0; i < n; ++i) {
      double denominator = kLinearEpsilons.normalizer;
      for (int a = 0; a < head_width; ++a) {
        denominator += PhiOf(q[i * l.width + first + a]) * z[a];
      }
      for (int a = 0; a < head_width; ++a) {
        const double phi =
            RoundedToBfloat16(static_cast<float>(PhiOf(q[i * l.width + first + a]) / denominator));
        for (int b = 0; b < head_width; ++b) {
          mixed[i * l.width + first + b] += phi * state[a * head_width + b];
        }
      }
    }
  }
  return DenseReference(Rounded(mixed), RoundedLayer(l.out));
}

std::vector<float> FeedForwardOnDevice(const Layers& l, const std::vector<float>& h,
                                       const RowRange& rows) {
  const DeviceLayers d(l);
  const DeviceArray<float> on_device(d.stream, h);
  EXPECT_EQ(LaunchAddFeedForward(rows, l.width, d.feed_forward(), on_device.get(), d.stream.get()),
            0);
  return on_device.Read();
}

std::vector<float> LinearOnDevice(const Layers& l, const std::vector<float>& h,
                                  const RowRange& rows, bool with_feed_forward) {
  const DeviceLayers d(l);
  const DeviceArray<float> on_device(d.stream, h);
  const std::int64_t n = static_cast<std::int64_t>(h.size()) / l.width;
  const DeviceArray<float> scratch(d.stream, FusedLinearScratchCount(n, l.width));
  EXPECT_EQ(LaunchAddLinearAttention(n, l.width, rows, d.linear(), kLinearEpsilons,
                                     with_feed_forward ? d.feed_forward() : FeedForwardLayers(),
                                     scratch.get(), on_device.get(), d.stream.get()),
            0);
  return on_device.Read();
}

class FusedCudaDeviceTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, FusedCudaDeviceTest, ::testing::Values(64, 128, 256),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(FusedCudaDeviceTest, FeedForwardFollowsDoubleWithTheSameRounding) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 96);
  for (const std::int64_t n : {1, 127, 129}) {
    const std::vector<float> h = RandomNormal<float>(n * width, kFusedSeed, 5);
    ExpectAdded(h, FeedForwardOnDevice(l, h, {0, n}), width, {0, n}, FeedForwardUpdate(l, h),
                kSameRoundingTolerance);
  }
}

TEST_P(FusedCudaDeviceTest, LinearAttentionFollowsDoubleWithTheSameRounding) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 32);
  for (const std::int64_t n : {1, 40, 257}) {
    const std::vector<float> h = RandomNormal<float>(n * width, kFusedSeed, 6);
    ExpectAdded(h, LinearOnDevice(l, h, {0, n}, false), width, {0, n}, LinearUpdate(l, h),
                kSameRoundingTolerance);
  }
}

TEST(FusedCudaDevice, FeedForwardGoesAfterLinearAttention) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 64);
  const std::int64_t n = 140;
  const std::vector<float> h = RandomNormal<float>(n * 64, kFusedSeed, 10);
  const std::vector<float> middle = LinearOnDevice(l, h, {0, n}, false);
  EXPECT_EQ(LinearOnDevice(l, h, {0, n}, true), FeedForwardOnDevice(l, middle, {0, n}));
}

TEST(FusedCudaDevice, OnlyTheRowsOfTheRangeChange) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 32);
  const std::vector<float> h = RandomNormal<float>(300 * 64, kFusedSeed, 11);
  ExpectAdded(h, FeedForwardOnDevice(l, h, {150, 290}), 64, {150, 290}, FeedForwardUpdate(l, h),
              kSameRoundingTolerance);
  ExpectAdded(h, LinearOnDevice(l, h, {150, 290}, false), 64, {150, 290}, LinearUpdate(l, h),
              kSameRoundingTolerance);
}

TEST(FusedCudaDevice, IsAsCloseToTheFloatLayersAsBf16Allows) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 256);
  const std::int64_t n = 64;
  const std::vector<float> h = RandomNormal<float>(n * 64, kFusedSeed, 12);
  std::vector<double> hidden =
      DenseReference(NormReference(h, 64, l.ffn_scale, l.ffn_bias), l.first);
  for (double& x : hidden) x = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  ExpectAdded(h, FeedForwardOnDevice(l, h, {0, n}), 64, {0, n}, DenseReference(hidden, l.second),
              kBfloat16OpTolerance);

  const std::vector<double> normed = NormReference(h, 64, l.scale, l.bias);
  const std::vector<double> q = DenseReference(normed, l.query), k = DenseReference(normed, l.key),
                            v = DenseReference(normed, l.value);
  const LinearAttentionShape shape{n, kFusedHeads, 16};
  std::vector<double> mixed(h.size()), normalizer(n * kFusedHeads), state(kFusedHeads * 16 * 17),
      scratch(static_cast<std::size_t>(LinearAttentionScratchCount(shape)));
  LinearAttentionForward<double>(shape, {q.data(), k.data(), v.data(), nullptr}, kLinearEpsilons,
                                 {mixed.data(), normalizer.data(), state.data()}, scratch.data(),
                                 SerialFor);
  ExpectAdded(h, LinearOnDevice(l, h, {0, n}, false), 64, {0, n}, DenseReference(mixed, l.out),
              kBfloat16OpTolerance);
}

TEST(FusedCudaDevice, NanStaysInItsRowUntilAttentionMixes) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 32);
  std::vector<float> h = RandomNormal<float>(50 * 64, kFusedSeed, 13);
  h[17 * 64 + 3] = NAN;
  const std::vector<float> fed = FeedForwardOnDevice(l, h, {0, 50});
  for (int x = 0; x < 50 * 64; ++x) ASSERT_EQ(std::isnan(fed[x]), x / 64 == 17) << x;
  for (const float x : LinearOnDevice(l, h, {0, 50}, false)) ASSERT_TRUE(std::isnan(x));
}

TEST(FusedCudaDevice, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(128, 64);
  const std::vector<float> h = RandomNormal<float>(600 * 128, kFusedSeed, 14);
  EXPECT_EQ(LinearOnDevice(l, h, {0, 600}, true), LinearOnDevice(l, h, {0, 600}, true));
}

TEST(FusedCudaDevice, NoRowsAreNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 32);
  EXPECT_TRUE(FeedForwardOnDevice(l, {}, {0, 0}).empty());
  EXPECT_TRUE(LinearOnDevice(l, {}, {0, 0}, true).empty());
  const std::vector<float> h = RandomNormal<float>(10 * 64, kFusedSeed, 15);
  EXPECT_EQ(LinearOnDevice(l, h, {10, 10}, true), h);
}

TEST(FusedCudaDevice, RefusesWhatItDoesNotTake) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  EXPECT_NE(LaunchAddFeedForward({0, 1}, 96, {}, nullptr, stream.get()), 0);
  EXPECT_NE(
      LaunchAddFeedForward({0, 1}, 64, {{}, nullptr, nullptr, nullptr, 33}, nullptr, stream.get()),
      0);
  EXPECT_NE(LaunchAddLinearAttention(5, 64, {0, 6}, {}, kLinearEpsilons, {}, nullptr, nullptr,
                                     stream.get()),
            0);
  EXPECT_NE(LaunchPackDense({nullptr, 33, 64}, {}, nullptr, stream.get()), 0);
  EXPECT_NE(
      LaunchPackDensePair({nullptr, 64, 32}, {nullptr, 64, 64}, kDensePiece, nullptr, stream.get()),
      0);
  EXPECT_FALSE(FitsFusedLinear(128, 2));
}

}  // namespace
}  // namespace interlacer::testing
