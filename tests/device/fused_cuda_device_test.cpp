#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "common/bfloat16.h"
#include "common/kernels/parallel_for.h"
#include "model/kernels/dense_pack_cuda.h"
#include "model/kernels/fused_linear_cuda.h"
#include "tests/device/device_array.h"
#include "tests/model/kernels/fused_reference.h"
#include "tests/support/numeric.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 36;
constexpr LinearAttentionEpsilons kLinearEpsilons;
constexpr GrfEpsilons kGrfEpsilons;
/// Of the update alone, when the reference rounds where the kernels do: numbers that lie close to a
/// rounding boundary fall to either side.
constexpr double kSameRoundingTolerance = 1e-3;

/// float64 rounded to bfloat16, as operands of products are.
std::vector<double> Rounded(std::vector<double> values) {
  for (double& x : values) x = RoundedToBfloat16(static_cast<float>(x));
  return values;
}

Layer RoundedLayer(Layer layer) {
  for (float& w : layer.weight) w = RoundedToBfloat16(w);
  return layer;
}

double PhiOf(double x) { return (x > 0 ? x : 0) + kLinearEpsilons.feature; }

/// Layers of a block with their device memory.
struct Layers {
  int width, hidden;
  std::vector<float> scale, bias, ffn_scale, ffn_bias;
  Layer query, key, value, out, first, second;

  explicit Layers(int width_, int hidden_)
      : width(width_),
        hidden(hidden_),
        scale(RandomNormal<float>(width, kSeed, 1)),
        bias(RandomNormal<float>(width, kSeed, 2)),
        ffn_scale(RandomNormal<float>(width, kSeed, 3)),
        ffn_bias(RandomNormal<float>(width, kSeed, 4)),
        query(RandomLayer(width, width, 10)),
        key(RandomLayer(width, width, 20)),
        value(RandomLayer(width, width, 30)),
        out(RandomLayer(width, width, 40)),
        first(RandomLayer(width, hidden, 50)),
        second(RandomLayer(hidden, width, 60)) {}
};

/// A layer's parameters on the device.
struct DeviceLayer {
  DeviceLayer(const TestStream& stream, const Layer& layer)
      : in(layer.in), out(layer.out), weight(stream, layer.weight), bias(stream, layer.bias) {}
  DenseWeight dense() const { return {weight.get(), in, out}; }
  int in, out;
  DeviceArray<float> weight, bias;
};

struct DeviceLayers {
  explicit DeviceLayers(const Layers& l)
      : width(l.width),
        hidden(l.hidden),
        scale(stream, l.scale),
        bias(stream, l.bias),
        ffn_scale(stream, l.ffn_scale),
        ffn_bias(stream, l.ffn_bias),
        query(stream, l.query),
        key(stream, l.key),
        value(stream, l.value),
        out(stream, l.out),
        first(stream, l.first),
        second(stream, l.second),
        packed_pair(stream, 2 * width * hidden),
        packed_query_out(stream, 2 * width * width),
        packed_key(stream, width * width),
        packed_value(stream, width * width),
        packed_projections(stream, 3 * width * width),
        packed_out(stream, width * width) {
    cudaStream_t s = stream.get();
    EXPECT_EQ(LaunchPackDensePair(first.dense(), second.dense(), kDensePiece, packed_pair.get(), s),
              0);
    EXPECT_EQ(LaunchPackDensePair(query.dense(), out.dense(), LinearPiece(width),
                                  packed_query_out.get(), s),
              0);
    EXPECT_EQ(LaunchPackWholeDense(key.dense(), packed_key.get(), s), 0);
    EXPECT_EQ(LaunchPackWholeDense(value.dense(), packed_value.get(), s), 0);
    EXPECT_EQ(LaunchPackProjections(query.dense(), key.dense(), value.dense(),
                                    packed_projections.get(), s),
              0);
    EXPECT_EQ(LaunchPackDenseByInputs(out.dense(), packed_out.get(), s), 0);
  }
  FeedForwardLayers feed_forward() const {
    return {{ffn_scale.get(), ffn_bias.get()},
            packed_pair.get(),
            first.bias.get(),
            second.bias.get(),
            hidden};
  }
  LinearLayers linear() const {
    return {{scale.get(), bias.get()}, packed_query_out.get(), packed_key.get(), packed_value.get(),
            query.bias.get(),          key.bias.get(),         value.bias.get(), out.bias.get()};
  }
  GrfProjections projections() const {
    return {{scale.get(), bias.get()},
            packed_projections.get(),
            query.bias.get(),
            key.bias.get(),
            value.bias.get()};
  }
  OutputLayer output() const { return {packed_out.get(), out.bias.get()}; }

  int width, hidden;
  TestStream stream;
  DeviceArray<float> scale, bias, ffn_scale, ffn_bias;
  DeviceLayer query, key, value, out, first, second;
  DeviceArray<std::uint16_t> packed_pair, packed_query_out, packed_key, packed_value,
      packed_projections, packed_out;
};

std::vector<float> Sum(const std::vector<float>& h, const std::vector<double>& update) {
  std::vector<float> sum;
  for (std::size_t i = 0; i < h.size(); ++i) sum.push_back(static_cast<float>(h[i] + update[i]));
  return sum;
}

std::vector<double> FeedForwardUpdate(const Layers& l, const std::vector<float>& h) {
  std::vector<double> hidden = DenseReference(
      Rounded(NormReference(h, l.width, l.ffn_scale, l.ffn_bias)), RoundedLayer(l.first));
  for (double& x : hidden) x = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  return DenseReference(Rounded(hidden), RoundedLayer(l.second));
}

/// Linear attention over all rows, rounded where the kernels round.
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

/// The update of the rows of a range, against an expected one; the other rows must not change.
void ExpectAdded(const std::vector<float>& before, const std::vector<float>& after, int width,
                 const FusedRange& rows, const std::vector<double>& update, double tolerance) {
  std::vector<double> got, expected;
  for (std::size_t i = 0; i < before.size(); ++i) {
    const auto row = static_cast<std::int64_t>(i / width);
    if (row >= rows.begin && row < rows.end) {
      got.push_back(static_cast<double>(after[i]) - before[i]);
      expected.push_back(update[i]);
    } else {
      ASSERT_EQ(after[i], before[i]) << "row " << row;
    }
  }
  EXPECT_LE(RelativeL2(got, expected), tolerance);
}

std::vector<float> FeedForwardOnDevice(const Layers& l, const std::vector<float>& h,
                                       const FusedRange& rows) {
  const DeviceLayers d(l);
  const DeviceArray<float> on_device(d.stream, h);
  EXPECT_EQ(LaunchAddFeedForward(rows, l.width, d.feed_forward(), on_device.get(), d.stream.get()),
            0);
  return on_device.Read();
}

std::vector<float> LinearOnDevice(const Layers& l, const std::vector<float>& h,
                                  const FusedRange& rows, bool with_feed_forward) {
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
    const std::vector<float> h = RandomNormal<float>(n * width, kSeed, 5);
    ExpectAdded(h, FeedForwardOnDevice(l, h, {0, n}), width, {0, n}, FeedForwardUpdate(l, h),
                kSameRoundingTolerance);
  }
}

TEST_P(FusedCudaDeviceTest, LinearAttentionFollowsDoubleWithTheSameRounding) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 32);
  for (const std::int64_t n : {1, 40, 257}) {
    const std::vector<float> h = RandomNormal<float>(n * width, kSeed, 6);
    ExpectAdded(h, LinearOnDevice(l, h, {0, n}, false), width, {0, n}, LinearUpdate(l, h),
                kSameRoundingTolerance);
  }
}

TEST_P(FusedCudaDeviceTest, ProjectionsFollowDoubleWithTheSameRounding) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 32);
  const std::int64_t n = 130;
  const std::vector<float> h = RandomNormal<float>(n * width, kSeed, 7);
  const DeviceLayers d(l);
  const DeviceArray<float> on_device(d.stream, h);
  const DeviceArray<std::uint16_t> q(d.stream, n * width), rows(d.stream, 2 * n * width);
  ASSERT_EQ(LaunchGrfProjections(n, width, {0, n}, d.projections(), kGrfEpsilons, on_device.get(),
                                 q.get(), rows.get(), d.stream.get()),
            0);
  const std::vector<double> normed = Rounded(NormReference(h, width, l.scale, l.bias));
  EXPECT_LE(
      RelativeL2(FromBfloat16(q.Read()), Rounded(DenseReference(normed, RoundedLayer(l.query)))),
      kSameRoundingTolerance);
  std::vector<double> keys = DenseReference(normed, RoundedLayer(l.key));
  for (double& x : keys) x = PhiOf(x);
  keys = Rounded(keys);
  const std::vector<double> values = Rounded(DenseReference(normed, RoundedLayer(l.value)));
  std::vector<double> expected;
  for (std::size_t x = 0; x < keys.size(); x += 4) {
    expected.insert(expected.end(), keys.begin() + x, keys.begin() + x + 4);
    expected.insert(expected.end(), values.begin() + x, values.begin() + x + 4);
  }
  EXPECT_LE(RelativeL2(FromBfloat16(rows.Read()), expected), kSameRoundingTolerance);
}

TEST(FusedCudaDevice, ProjectsTheQueriesThatAreWanted) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kRows = 400, kWidth = 64;
  const DeviceLayers d(Layers(kWidth, 32));
  const DeviceArray<float> h(d.stream, RandomNormal<float>(kRows * kWidth, kSeed, 16));
  const auto project = [&](const FusedRange& queries) {
    const DeviceArray<std::uint16_t> q(d.stream, kRows * kWidth),
        rows(d.stream, 2 * kRows * kWidth);
    EXPECT_EQ(LaunchGrfProjections(kRows, kWidth, queries, d.projections(), kGrfEpsilons, h.get(),
                                   q.get(), rows.get(), d.stream.get()),
              0);
    return std::pair(q.Read(), rows.Read());
  };
  const auto [all_queries, all_rows] = project({0, kRows});
  for (const FusedRange& queries : {FusedRange{150, 380}, {0, 1}, {399, 400}, {200, 200}}) {
    const auto [some_queries, same_rows] = project(queries);
    EXPECT_EQ(same_rows, all_rows);
    for (std::int64_t x = queries.begin * kWidth; x < queries.end * kWidth; ++x) {
      ASSERT_EQ(some_queries[x], all_queries[x]) << x;
    }
  }
}

TEST_P(FusedCudaDeviceTest, OutputLayerFollowsDoubleAndGoesBeforeFeedForward) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 32);
  const std::int64_t n = 33;
  const std::vector<float> h = RandomNormal<float>(n * width, kSeed, 8);
  const std::vector<std::uint16_t> mixed = ToBfloat16(RandomNormal<float>(n * width, kSeed, 9));
  const std::vector<float> mixed_values = FromBfloat16(mixed);
  const std::vector<double> update =
      DenseReference({mixed_values.begin(), mixed_values.end()}, RoundedLayer(l.out));
  const DeviceLayers d(l);
  const DeviceArray<std::uint16_t> mixed_device(d.stream, mixed);
  const DeviceArray<float> alone(d.stream, h), both(d.stream, h);
  ASSERT_EQ(LaunchAddMixed({0, n}, width, d.output(), mixed_device.get(), {}, alone.get(),
                           d.stream.get()),
            0);
  ExpectAdded(h, alone.Read(), width, {0, n}, update, kFloatOpTolerance);
  ASSERT_EQ(LaunchAddMixed({0, n}, width, d.output(), mixed_device.get(), d.feed_forward(),
                           both.get(), d.stream.get()),
            0);
  const std::vector<float> middle = Sum(h, update);
  ExpectAdded(middle, both.Read(), width, {0, n}, FeedForwardUpdate(l, middle),
              kSameRoundingTolerance);
}

TEST(FusedCudaDevice, FeedForwardGoesAfterLinearAttention) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 64);
  const std::int64_t n = 140;
  const std::vector<float> h = RandomNormal<float>(n * 64, kSeed, 10);
  const std::vector<float> middle = LinearOnDevice(l, h, {0, n}, false);
  EXPECT_EQ(LinearOnDevice(l, h, {0, n}, true), FeedForwardOnDevice(l, middle, {0, n}));
}

TEST(FusedCudaDevice, OnlyTheRowsOfTheRangeChange) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 32);
  const std::vector<float> h = RandomNormal<float>(300 * 64, kSeed, 11);
  ExpectAdded(h, FeedForwardOnDevice(l, h, {150, 290}), 64, {150, 290}, FeedForwardUpdate(l, h),
              kSameRoundingTolerance);
  ExpectAdded(h, LinearOnDevice(l, h, {150, 290}, false), 64, {150, 290}, LinearUpdate(l, h),
              kSameRoundingTolerance);
}

TEST(FusedCudaDevice, IsAsCloseToTheFloatLayersAsBf16Allows) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 256);
  const std::int64_t n = 64;
  const std::vector<float> h = RandomNormal<float>(n * 64, kSeed, 12);
  std::vector<double> hidden =
      DenseReference(NormReference(h, 64, l.ffn_scale, l.ffn_bias), l.first);
  for (double& x : hidden) x = 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  ExpectAdded(h, FeedForwardOnDevice(l, h, {0, n}), 64, {0, n}, DenseReference(hidden, l.second),
              kBf16OpTolerance);

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
              kBf16OpTolerance);
}

TEST(FusedCudaDevice, NanStaysInItsRowUntilAttentionMixes) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 32);
  std::vector<float> h = RandomNormal<float>(50 * 64, kSeed, 13);
  h[17 * 64 + 3] = NAN;
  const std::vector<float> fed = FeedForwardOnDevice(l, h, {0, 50});
  for (int x = 0; x < 50 * 64; ++x) ASSERT_EQ(std::isnan(fed[x]), x / 64 == 17) << x;
  for (const float x : LinearOnDevice(l, h, {0, 50}, false)) ASSERT_TRUE(std::isnan(x));
}

TEST(FusedCudaDevice, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(128, 64);
  const std::vector<float> h = RandomNormal<float>(600 * 128, kSeed, 14);
  EXPECT_EQ(LinearOnDevice(l, h, {0, 600}, true), LinearOnDevice(l, h, {0, 600}, true));
}

TEST(FusedCudaDevice, NoRowsAreNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Layers l(64, 32);
  EXPECT_TRUE(FeedForwardOnDevice(l, {}, {0, 0}).empty());
  EXPECT_TRUE(LinearOnDevice(l, {}, {0, 0}, true).empty());
  const std::vector<float> h = RandomNormal<float>(10 * 64, kSeed, 15);
  EXPECT_EQ(LinearOnDevice(l, h, {10, 10}, true), h);
}

TEST(FusedCudaDevice, RefusesWhatItDoesNotTake) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const TestStream stream;
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
