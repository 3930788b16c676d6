#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

#include "model/kernels/grf_attention_cuda.h"
#include "tests/device/device_array.h"
#include "tests/device/walk_graphs.h"
#include "tests/support/gradient_follows.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 33;
constexpr GrfEpsilons kEpsilons;
constexpr double kCoefficients[4] = {1, 0.9, 0.7, 0.5};
constexpr int kShift[4] = {0, 1, 2, 4};
constexpr std::uint32_t kMask[4] = {1, 1, 3, 15};

std::vector<double> Widened(const std::vector<float>& values) {
  return {values.begin(), values.end()};
}

struct Problem {
  GrfShape shape;
  WalkTestLists lists;
  std::vector<std::int32_t> nodes;
  std::vector<float> table, weights, q, k, v, grad_out;

  Problem(const WalkTestGraph& graph, int qk_width, int v_width)
      : shape{graph.n, qk_width, v_width}, lists(EnumerateWalks(graph)) {
    for (std::uint32_t code = 0; code < 256; ++code) {
      double weight = 0;
      for (int t = 0; t < 4; ++t) {
        weight += kCoefficients[t] * ((code >> kShift[t]) & kMask[t]) * std::pow(3.0, -t);
      }
      table.push_back(static_cast<float>(weight));
    }
    for (const std::uint32_t entry : lists.entries) {
      nodes.push_back(static_cast<std::int32_t>(entry & 0xFFFFFFu));
      weights.push_back(table[entry >> 24]);
    }
    q = RandomNormal<float>(shape.n * qk_width, kSeed, 1);
    k = RandomNormal<float>(shape.n * qk_width, kSeed, 2);
    v = RandomNormal<float>(shape.n * v_width, kSeed, 3);
    grad_out = RandomNormal<float>(shape.n * v_width, kSeed, 4);
  }
  std::int64_t nnz() const { return static_cast<std::int64_t>(lists.entries.size()); }
};

template <typename T>
struct Result {
  std::vector<T> out, normalizer, grad_q, grad_k, grad_v, grad_weights;
};

/// The generic CPU form in float64.
template <typename MakePairs>
Result<double> OnHost(const Problem& p, std::int64_t weight_count, const MakePairs& pairs) {
  const std::vector<double> q = Widened(p.q), k = Widened(p.k), v = Widened(p.v),
                            grad_out = Widened(p.grad_out);
  const std::size_t n = static_cast<std::size_t>(p.shape.n);
  Result<double> r{std::vector<double>(v.size()), std::vector<double>(n),
                   std::vector<double>(q.size()), std::vector<double>(k.size()),
                   std::vector<double>(v.size()), std::vector<double>(weight_count)};
  std::vector<double> scratch(GrfBackwardScratchCount(p.shape.n, p.nnz()));
  const GrfInputs<double> inputs{q.data(), k.data(), v.data()};
  GrfAttentionForward(p.shape, pairs, inputs, kEpsilons, r.out.data(), r.normalizer.data(),
                      SerialFor);
  GrfAttentionBackward<double>(
      p.shape, pairs,
      {p.lists.column_offsets.data(), p.lists.roots.data(), p.lists.entry_index.data()}, inputs,
      {r.out.data(), r.normalizer.data(), grad_out.data()}, kEpsilons,
      {r.grad_q.data(), r.grad_k.data(), r.grad_v.data(), r.grad_weights.data()}, scratch.data(),
      SerialFor);
  return r;
}

Result<double> PackedOnHost(const Problem& p) {
  const std::vector<double> table = Widened(p.table);
  return OnHost(
      p, 256, GrfPackedPairs<double>{p.lists.offsets.data(), p.lists.entries.data(), table.data()});
}
Result<double> WeightedOnHost(const Problem& p) {
  const std::vector<double> weights = Widened(p.weights);
  return OnHost(p, p.nnz(),
                GrfWeightedPairs<double>{p.lists.offsets.data(), p.nodes.data(), weights.data()});
}

/// Inputs and outputs on the device for both kinds of pairs.
struct DeviceProblem {
  explicit DeviceProblem(const Problem& p)
      : offsets(stream, p.lists.offsets),
        column_offsets(stream, p.lists.column_offsets),
        roots(stream, p.lists.roots),
        entry_index(stream, p.lists.entry_index),
        nodes(stream, p.nodes),
        entries(stream, p.lists.entries),
        q(stream, p.q),
        k(stream, p.k),
        v(stream, p.v),
        grad_out(stream, p.grad_out),
        table(stream, p.table),
        weights(stream, p.weights) {}

  CheckedStream stream;
  DeviceArray<std::int32_t> offsets, column_offsets, roots, entry_index, nodes;
  DeviceArray<std::uint32_t> entries;
  DeviceArray<float> q, k, v, grad_out, table, weights;
};

template <typename Pairs>
Result<float> OnDevice(const Problem& p, const DeviceProblem& d, const Pairs& pairs,
                       std::int64_t weight_count) {
  const std::int64_t qk_count = p.shape.n * p.shape.qk_width;
  const std::int64_t v_count = p.shape.n * p.shape.v_width;
  const DeviceArray<float> out(d.stream, v_count), normalizer(d.stream, p.shape.n);
  const DeviceArray<float> grad_q(d.stream, qk_count), grad_k(d.stream, qk_count);
  const DeviceArray<float> grad_v(d.stream, v_count), grad_weights(d.stream, weight_count);
  const DeviceArray<float> scratch(d.stream, GrfCudaBackwardScratchCount(p.shape.n, p.nnz()));
  const GrfInputs<float> inputs{d.q.get(), d.k.get(), d.v.get()};
  constexpr bool kPacked = std::is_same_v<Pairs, GrfPackedPairs<float>>;
  const auto launchers = [] {
    if constexpr (kPacked)
      return std::pair(&LaunchGrfForward, &LaunchGrfBackward);
    else
      return std::pair(&LaunchWeightedGrfForward, &LaunchWeightedGrfBackward);
  }();
  EXPECT_EQ(launchers.first(p.shape, pairs, inputs, kEpsilons, out.get(), normalizer.get(),
                            d.stream.get()),
            0);
  EXPECT_EQ(
      launchers.second(p.shape, pairs, {d.column_offsets.get(), d.roots.get(), d.entry_index.get()},
                       p.nnz(), inputs, {out.get(), normalizer.get(), d.grad_out.get()}, kEpsilons,
                       {grad_q.get(), grad_k.get(), grad_v.get(), grad_weights.get()},
                       scratch.get(), d.stream.get()),
      0);
  return {out.Read(),    normalizer.Read(), grad_q.Read(),
          grad_k.Read(), grad_v.Read(),     grad_weights.Read()};
}

Result<float> PackedOnDevice(const Problem& p) {
  const DeviceProblem d(p);
  return OnDevice(p, d, GrfPackedPairs<float>{d.offsets.get(), d.entries.get(), d.table.get()},
                  256);
}
Result<float> WeightedOnDevice(const Problem& p) {
  const DeviceProblem d(p);
  return OnDevice(p, d, GrfWeightedPairs<float>{d.offsets.get(), d.nodes.get(), d.weights.get()},
                  p.nnz());
}

void ExpectClose(const Result<float>& got, const Result<double>& expected) {
  EXPECT_LE(RelativeL2(got.out, expected.out), kFloatOpTolerance);
  EXPECT_LE(RelativeL2(got.normalizer, expected.normalizer), kFloatOpTolerance);
  ExpectGradientFollows(got.grad_q, expected.grad_q);
  ExpectGradientFollows(got.grad_k, expected.grad_k);
  ExpectGradientFollows(got.grad_v, expected.grad_v);
  ExpectGradientFollows(got.grad_weights, expected.grad_weights);
}

void ExpectEqual(const Result<float>& a, const Result<float>& b) {
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.normalizer, b.normalizer);
  EXPECT_EQ(a.grad_q, b.grad_q);
  EXPECT_EQ(a.grad_k, b.grad_k);
  EXPECT_EQ(a.grad_v, b.grad_v);
  EXPECT_EQ(a.grad_weights, b.grad_weights);
}

struct Widths {
  int qk;
  int v;
};
class GrfAttentionDeviceTest : public ::testing::TestWithParam<Widths> {};
INSTANTIATE_TEST_SUITE_P(AllWidths, GrfAttentionDeviceTest,
                         ::testing::Values(Widths{2, 1}, Widths{5, 19}, Widths{16, 16},
                                           Widths{40, 24}, Widths{64, 64}, Widths{128, 128},
                                           Widths{131, 30}, Widths{200, 256}, Widths{256, 256}),
                         [](const auto& test) {
                           return std::to_string(test.param.qk) + "_" +
                                  std::to_string(test.param.v);
                         });

TEST_P(GrfAttentionDeviceTest, ValuesAndGradientsFollowDouble) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(300, 3, kSeed), GetParam().qk, GetParam().v);
  ExpectClose(PackedOnDevice(p), PackedOnHost(p));
  ExpectClose(WeightedOnDevice(p), WeightedOnHost(p));
}

TEST(GrfAttentionDevice, ManyRowsAndLongColumns) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  // Several chunks of rows for the weights' gradients, and three end nodes that all rows list.
  for (const WalkTestGraph& graph : {RandomGraph(2500, 3, kSeed), HubGraph(1200)}) {
    const Problem p(graph, 8, 4);
    ExpectClose(PackedOnDevice(p), PackedOnHost(p));
  }
}

TEST(GrfAttentionDevice, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(1500, 3, kSeed), 16, 24);
  ExpectEqual(PackedOnDevice(p), PackedOnDevice(p));
  ExpectEqual(WeightedOnDevice(p), WeightedOnDevice(p));
}

TEST(GrfAttentionDevice, AllNegativeFeaturesGiveTheWeightedMean) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(RandomGraph(100, 3, kSeed), 4, 2);
  for (float& x : p.q) x = -std::abs(x);
  for (float& x : p.k) x = -std::abs(x);
  const Result<float> r = PackedOnDevice(p);
  EXPECT_LE(RelativeL2(r.out, PackedOnHost(p).out), kFloatOpTolerance);
  for (const float g : r.grad_q) ASSERT_EQ(g, 0);  // ReLU is flat there
  for (const float g : r.grad_k) ASSERT_EQ(g, 0);
}

TEST(GrfAttentionDevice, RowsWithoutPairsOrWithZeroWeightsAreZero) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(RandomGraph(50, 3, kSeed), 4, 3);
  std::fill(p.weights.begin(), p.weights.end(), 0.0F);
  Result<float> r = WeightedOnDevice(p);
  for (const float x : r.out) ASSERT_EQ(x, 0);
  for (const float g : r.grad_v) ASSERT_EQ(g, 0);

  p.lists = WalkTestLists();
  p.lists.offsets.assign(51, 0);
  p.lists.column_offsets.assign(51, 0);
  p.nodes.clear();
  p.weights.clear();
  r = PackedOnDevice(p);
  for (const float x : r.out) ASSERT_EQ(x, 0);
  for (const float g : r.grad_k) ASSERT_EQ(g, 0);
  EXPECT_EQ(r.grad_weights, std::vector<float>(256, 0));
}

TEST(GrfAttentionDevice, OneTokenReturnsItsOwnValue) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(1, 3, kSeed), 4, 3);
  EXPECT_LE(RelativeL2(PackedOnDevice(p).out, p.v), kFloatOpTolerance);
}

TEST(GrfAttentionDevice, NoTokensIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Result<float> r = PackedOnDevice(Problem(RandomGraph(0, 3, kSeed), 4, 3));
  EXPECT_TRUE(r.out.empty());
  EXPECT_EQ(r.grad_weights, std::vector<float>(256, 0));
}

TEST(GrfAttentionDevice, RefusesRowsThatDoNotFitAWarp) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  EXPECT_NE(LaunchGrfForward({10, kMaxGrfCudaWidth + 1, 4}, GrfPackedPairs<float>(),
                             GrfInputs<float>(), kEpsilons, nullptr, nullptr, stream.get()),
            0);
}

}  // namespace
}  // namespace interlacer::testing
