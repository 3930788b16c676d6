#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "model/kernels/packed_grf_cuda.h"
#include "tests/device/device_array.h"
#include "tests/device/packed_rows.h"
#include "tests/device/walk_graphs.h"
#include "tests/support/bfloat16_rounding.h"
#include "tests/support/numeric.h"
#include "tests/support/serial_for.h"
#include "tests/support/tolerances.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 35;
constexpr GrfEpsilons kEpsilons;

struct Problem {
  std::int64_t n;
  int width;
  WalkTestLists lists;
  std::vector<float> table, q, k, v;

  Problem(const WalkTestGraph& graph, int width_)
      : n(graph.n), width(width_), lists(EnumerateWalks(graph)) {
    for (int code = 0; code < 256; ++code) table.push_back(0.01F * static_cast<float>(code));
    q = RandomNormal<float>(n * width, kSeed, 1);
    k = RandomNormal<float>(n * width, kSeed, 2);
    v = RandomNormal<float>(n * width, kSeed, 3);
  }
};

template <typename T>
struct Result {
  std::vector<T> out;
  std::vector<float> normalizer;
};

double Phi(float x) { return static_cast<double>(x > 0 ? x : 0) + kEpsilons.feature; }

/// The generic CPU form in float64, on the numbers as the kernels round them or, if not `rounded`,
/// as drawn.
Result<double> OnHost(const Problem& p, bool rounded) {
  std::vector<double> phi_q, phi_k, v;
  for (const float x : p.q) phi_q.push_back(Phi(rounded ? RoundedToBfloat16(x) : x));
  for (const float x : p.k) {
    const double phi = Phi(rounded ? RoundedToBfloat16(x) : x);
    phi_k.push_back(rounded ? RoundedToBfloat16(static_cast<float>(phi)) : phi);
  }
  for (const float x : p.v) v.push_back(rounded ? RoundedToBfloat16(x) : x);
  const std::vector<double> table(p.table.begin(), p.table.end());
  Result<double> r{std::vector<double>(v.size()), {}};
  std::vector<double> normalizer(static_cast<std::size_t>(p.n));
  GrfAttentionForward<double>(
      {p.n, p.width, p.width},
      GrfPackedPairs<double>{p.lists.offsets.data(), p.lists.entries.data(), table.data()},
      {phi_q.data(), phi_k.data(), v.data()}, {0, kEpsilons.normalizer}, r.out.data(),
      normalizer.data(), SerialFor);
  r.normalizer.assign(normalizer.begin(), normalizer.end());
  return r;
}

struct DeviceProblem {
  explicit DeviceProblem(const Problem& p)
      : offsets(stream, p.lists.offsets),
        entries(stream, p.lists.entries),
        table(stream, p.table),
        q(stream, ToBfloat16(p.q)),
        packed(stream, PackedGrfRows(ToBfloat16(p.k), ToBfloat16(p.v), kEpsilons.feature)) {}
  GrfPackedPairs<float> pairs() const { return {offsets.get(), entries.get(), table.get()}; }
  PackedGrfInputs inputs() const { return {q.get(), packed.get()}; }

  CheckedStream stream;
  DeviceArray<std::int32_t> offsets;
  DeviceArray<std::uint32_t> entries;
  DeviceArray<float> table;
  DeviceArray<std::uint16_t> q, packed;
};

Result<float> OnDevice(const Problem& p, std::int64_t begin, std::int64_t end) {
  const DeviceProblem d(p);
  const DeviceArray<std::uint16_t> out(d.stream, p.n * p.width);
  const DeviceArray<float> normalizer(d.stream, p.n);
  if (end - begin < p.n) {
    out.Poison();
    normalizer.Poison();
  }
  const PackedGrfShape shape{p.n, p.width, begin, end};
  const PackedGrfOutputs outputs{out.get(), normalizer.get()};
  EXPECT_EQ(LaunchPackedGrf(shape, d.pairs(), d.inputs(), kEpsilons, outputs, d.stream.get()), 0);
  return {FromBfloat16(out.Read()), normalizer.Read()};
}
Result<float> OnDevice(const Problem& p) { return OnDevice(p, 0, p.n); }

void ExpectEqual(const Result<float>& a, const Result<float>& b) {
  EXPECT_EQ(a.out, b.out);
  EXPECT_EQ(a.normalizer, b.normalizer);
}

/// Compares with the expected numbers, computed in float32 and rounded to bfloat16 once, at the
/// end.
void ExpectRounded(const std::vector<float>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  double squares = 0;
  for (const double x : expected) squares += x * x;
  const double float_error =
      kFloatOpTolerance * std::sqrt(squares / static_cast<double>(expected.size()));
  for (std::size_t i = 0; i < got.size(); ++i) {
    ASSERT_NEAR(got[i], expected[i], float_error + kBfloat16Rounding * std::abs(expected[i])) << i;
  }
}

class PackedGrfDeviceTest : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Widths, PackedGrfDeviceTest, ::testing::Values(32, 64, 128, 256),
                         [](const auto& test) { return std::to_string(test.param); });

TEST_P(PackedGrfDeviceTest, FollowsDoubleOnTheSameRoundedRows) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(200, 3, kSeed), GetParam());
  const Result<double> expected = OnHost(p, true);
  const Result<float> got = OnDevice(p);
  ExpectRounded(got.out, expected.out);
  EXPECT_LE(RelativeL2(got.normalizer, expected.normalizer), kFloatOpTolerance);
}

TEST_P(PackedGrfDeviceTest, IsAsCloseToTheFloatFormAsBf16Allows) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(150, 3, kSeed), GetParam());
  EXPECT_LE(RelativeL2(OnDevice(p).out, OnHost(p, false).out), kBfloat16OpTolerance);
}

TEST(PackedGrfDevice, BlockBoundariesAndRepeatedNeighbours) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<WalkTestGraph> graphs{RingGraph(128), HubGraph(129)};
  for (const int n : {1, 2, 31, 32, 33, 257}) graphs.push_back(RandomGraph(n, 3, kSeed));
  for (const WalkTestGraph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    const Problem p(graph, 64);
    ExpectRounded(OnDevice(p).out, OnHost(p, true).out);
  }
}

TEST(PackedGrfDevice, RowsLongerThanAWarp) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(RandomGraph(50, 3, kSeed), 128);
  p.lists = WalkTestLists();
  for (std::uint32_t i = 0; i < 50; ++i) {
    for (std::uint32_t e = 0; e < 33 + i % 8; ++e) p.lists.entries.push_back(e | (e + 1) << 24);
    p.lists.offsets.push_back(static_cast<std::int32_t>(p.lists.entries.size()));
  }
  ExpectRounded(OnDevice(p).out, OnHost(p, true).out);
}

TEST(PackedGrfDevice, WritesTheQueriesThatAreWantedAndNoOthers) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(400, 3, kSeed), 32);
  const Result<float> all = OnDevice(p);
  const Result<float> some = OnDevice(p, 150, 390);
  for (std::int64_t i = 0; i < p.n; ++i) {
    const bool wanted = i >= 150 && i < 390;
    for (std::int64_t c = i * p.width; c < (i + 1) * p.width; ++c) {
      ASSERT_TRUE(wanted ? some.out[c] == all.out[c] : std::isnan(some.out[c])) << i;
    }
    ASSERT_EQ(std::isnan(some.normalizer[i]), !wanted);
  }
}

TEST(PackedGrfDevice, NanReachesTheQueriesThatListIt) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const WalkTestGraph graph = RandomGraph(300, 3, kSeed);
  for (const bool in_key : {true, false}) {
    Problem p(graph, 128);
    // Node 0 is the placeholder for missing pairs, so its NaN shows whether they count.
    (in_key ? p.k : p.v)[5] = NAN;
    const Result<float> got = OnDevice(p);
    for (std::int64_t i = 0; i < p.n; ++i) {
      bool lists_it = false;
      for (std::int32_t e = p.lists.offsets[i]; e < p.lists.offsets[i + 1]; ++e) {
        lists_it = lists_it || (p.lists.entries[e] & 0xFFFFFFu) == 0;
      }
      ASSERT_EQ(std::isnan(got.out[i * p.width + 5]), lists_it) << i;
      ASSERT_EQ(std::isnan(got.out[i * p.width + 6]), lists_it && in_key) << i;
    }
  }
}

TEST(PackedGrfDevice, RowsWithoutPairsAreZero) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Problem p(RandomGraph(130, 3, kSeed), 64);
  p.lists = WalkTestLists();
  p.lists.offsets.assign(131, 0);
  for (const float x : OnDevice(p).out) ASSERT_EQ(x, 0);
}

TEST(PackedGrfDevice, TwoRunsGiveEqualBits) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Problem p(RandomGraph(500, 3, kSeed), 128);
  ExpectEqual(OnDevice(p), OnDevice(p));
}

TEST(PackedGrfDevice, NoTokensAndNoQueriesAreNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice(Problem(RandomGraph(0, 3, kSeed), 64)).out.empty());
  const Problem p(RandomGraph(128, 3, kSeed), 64);
  for (const float x : OnDevice(p, 128, 128).out) ASSERT_TRUE(std::isnan(x));
}

TEST(PackedGrfDevice, RefusesWhatItDoesNotTake) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  const PackedGrfOutputs outputs;
  EXPECT_NE(LaunchPackedGrf({10, 48, 0, 10}, {}, {}, kEpsilons, outputs, stream.get()), 0);
  EXPECT_NE(LaunchPackedGrf({10, 64, 0, 11}, {}, {}, kEpsilons, outputs, stream.get()), 0);
}

}  // namespace
}  // namespace interlacer::testing
