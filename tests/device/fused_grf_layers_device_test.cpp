/// The layers before and after GRF attention in their fused form.

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "tests/device/fused_layers_on_device.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr GrfEpsilons kGrfEpsilons;

std::vector<float> Sum(const std::vector<float>& h, const std::vector<double>& update) {
  std::vector<float> sum;
  for (std::size_t i = 0; i < h.size(); ++i) sum.push_back(static_cast<float>(h[i] + update[i]));
  return sum;
}

class FusedGrfLayersTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, FusedGrfLayersTest, ::testing::Values(64, 128, 256),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(FusedGrfLayersTest, ProjectionsFollowDoubleWithTheSameRounding) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 32);
  const std::int64_t n = 130;
  const std::vector<float> h = RandomNormal<float>(n * width, kFusedSeed, 7);
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

TEST(FusedGrfLayers, ProjectsTheQueriesThatAreWanted) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr std::int64_t kRows = 400, kWidth = 64;
  const DeviceLayers d(Layers(kWidth, 32));
  const DeviceArray<float> h(d.stream, RandomNormal<float>(kRows * kWidth, kFusedSeed, 16));
  const auto project = [&](const RowRange& queries) {
    const DeviceArray<std::uint16_t> q(d.stream, kRows * kWidth),
        rows(d.stream, 2 * kRows * kWidth);
    q.Poison();  // rows outside the range must stay unwritten
    EXPECT_EQ(LaunchGrfProjections(kRows, kWidth, queries, d.projections(), kGrfEpsilons, h.get(),
                                   q.get(), rows.get(), d.stream.get()),
              0);
    return std::pair(q.Read(), rows.Read());
  };
  const auto [all_queries, all_rows] = project({0, kRows});
  for (const RowRange& queries : {RowRange{150, 380}, {0, 1}, {399, 400}, {200, 200}}) {
    const auto [some_queries, same_rows] = project(queries);
    EXPECT_EQ(same_rows, all_rows);
    for (std::int64_t x = queries.begin * kWidth; x < queries.end * kWidth; ++x) {
      ASSERT_EQ(some_queries[x], all_queries[x]) << x;
    }
  }
}

TEST_P(FusedGrfLayersTest, OutputLayerFollowsDoubleAndGoesBeforeFeedForward) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const int width = GetParam();
  const Layers l(width, 32);
  const std::int64_t n = 33;
  const std::vector<float> h = RandomNormal<float>(n * width, kFusedSeed, 8);
  const std::vector<std::uint16_t> mixed =
      ToBfloat16(RandomNormal<float>(n * width, kFusedSeed, 9));
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

}  // namespace
}  // namespace interlacer::testing
