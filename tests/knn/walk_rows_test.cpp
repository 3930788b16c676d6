#include "knn/kernels/walk_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "common/kernels/cpu_features.h"
#include "common/random.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"

namespace interlacer {
namespace {

constexpr std::uint64_t kWalkRowsSeed = 20266;
constexpr std::uint32_t kPoison = 0xDEADBEEF;

struct RowsBody {
  std::string name;
  WalkRowKernels kernels;
  bool supported;
  bool any_degree;
};

/// Neighbours drawn with repetition, the node itself among them.
KnnGraph RandomGraph(int n, int degree, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  KnnGraph graph{n, degree, {}};
  for (int e = 0; e < n * degree; ++e) {
    graph.neighbors.push_back(static_cast<std::int32_t>(random.Below(n)));
  }
  return graph;
}

/// The slow, obvious twin: adds every walk of up to three hops, one by one, by end node.
std::vector<std::uint32_t> RowByEnumeration(const KnnGraph& graph, std::int32_t root) {
  std::map<std::int32_t, std::uint32_t> codes;
  const auto visit = [&](const auto& self, std::int32_t node, int hops) -> void {
    codes[node] += kOnePath[hops];
    if (hops == 3) return;
    for (int r = 0; r < graph.out_degree; ++r) {
      self(self, graph.neighbors[node * graph.out_degree + r], hops + 1);
    }
  };
  visit(visit, root, 0);
  std::vector<std::uint32_t> row;
  for (const auto& [node, code] : codes) {
    row.push_back(static_cast<std::uint32_t>(node) | code << 24);
  }
  return row;
}

class WalkRowsTest : public ::testing::TestWithParam<RowsBody> {
 protected:
  void SetUp() override {
    if (!GetParam().supported) GTEST_SKIP() << "this processor has no " << GetParam().name;
  }

  /// Compares all rows with the enumeration, `grain` roots a call.
  void ExpectLikeEnumeration(const KnnGraph& graph, std::int64_t grain) {
    const WalkGraphView view{graph.neighbors.data(), graph.out_degree};
    std::vector<std::uint32_t> two_hops(graph.n * kTwoHopStride, kPoison);
    for (std::int64_t begin = 0; begin < graph.n; begin += grain) {
      GetParam().kernels.merge_two_hops(view, begin, std::min(begin + grain, graph.n),
                                        two_hops.data());
    }
    for (std::int64_t begin = 0; begin < graph.n; begin += grain) {
      const std::int64_t end = std::min(begin + grain, graph.n);
      std::vector<std::int32_t> sizes(end - begin, -1);
      std::vector<std::uint32_t> entries((end - begin) * kWalkRowCapacity, kPoison);
      GetParam().kernels.merge_three_hops(view, two_hops.data(), begin, end, sizes.data(),
                                          entries.data());
      auto entry = entries.begin();
      for (std::int64_t i = begin; i < end; ++i) {
        const int size = sizes[i - begin];
        ASSERT_EQ(std::vector<std::uint32_t>(entry, entry + size),
                  RowByEnumeration(graph, static_cast<std::int32_t>(i)))
            << "root " << i;
        entry += size;
      }
    }
  }
};

TEST_P(WalkRowsTest, NeighbourGraphsGiveTheEnumeratedRows) {
  for (const testing::NamedCloud& cloud : testing::AwkwardClouds(700, kWalkRowsSeed)) {
    SCOPED_TRACE(cloud.name);
    ExpectLikeEnumeration(testing::BruteForceGraph(cloud.positions_m, 3), 256);
  }
}

TEST_P(WalkRowsTest, RandomGraphsOfEverySizeGiveTheEnumeratedRows) {
  // Large ones reach 40 different nodes from most roots, small ones repeat neighbours and loop.
  for (const int n : {1, 2, 3, 5, 8, 15, 16, 17, 30, 60, 200, 4000}) {
    SCOPED_TRACE(n);
    ExpectLikeEnumeration(RandomGraph(n, 3, kWalkRowsSeed + n), 256);
  }
}

TEST_P(WalkRowsTest, CutsBetweenCallsDoNotShow) {
  for (const std::int64_t grain : {1, 3, 100})
    ExpectLikeEnumeration(RandomGraph(250, 3, kWalkRowsSeed), grain);
}

TEST_P(WalkRowsTest, AlwaysTheSameNeighbourWrapsTheCountsAround) {
  KnnGraph graph{40, 3, {}};
  for (int i = 0; i < 40; ++i) graph.neighbors.insert(graph.neighbors.end(), 3, (i + 1) % 40);
  ExpectLikeEnumeration(graph, 256);  // 27 walks of three hops; the code holds 15
}

TEST_P(WalkRowsTest, FewerThanThreeNeighbours) {
  if (!GetParam().any_degree) GTEST_SKIP() << GetParam().name << " takes three neighbours";
  for (const int degree : {0, 1, 2})
    ExpectLikeEnumeration(RandomGraph(50, degree, kWalkRowsSeed), 256);
}

INSTANTIATE_TEST_SUITE_P(InstructionSets, WalkRowsTest,
                         ::testing::Values(RowsBody{"cpu", cpu::GetWalkRowKernels(), true, true},
                                           RowsBody{"avx512", avx512::GetWalkRowKernels(),
                                                    HostCpuFeatures().avx512, false}),
                         [](const auto& test) { return test.param.name; });

TEST(WalkRows, TheLastNodeOfTheLargestGraphIsNotTakenForTheEnd) {
  // Only the rows that are read are made: node 2^24 - 1 would share its bits with the end.
  constexpr std::int32_t kLast = (1 << 24) - 1;
  std::vector<std::uint32_t> two_hops(2 * kTwoHopStride, kEndOfList);
  two_hops[0] = kOnePath[1];
  two_hops[1] = static_cast<std::uint32_t>(kLast) << 8 | kOnePath[2];
  const std::vector<std::int32_t> neighbors = {0, 0};
  std::int32_t size = 0;
  std::vector<std::uint32_t> entries(kWalkRowCapacity, kPoison);
  cpu::GetWalkRowKernels().merge_three_hops({neighbors.data(), 1}, two_hops.data(), 1, 2, &size,
                                            entries.data());
  ASSERT_EQ(size, 3);
  EXPECT_EQ(entries[0], 0u | kOnePath[1] << 24);
  EXPECT_EQ(entries[1], 1u | kOnePath[0] << 24);
  EXPECT_EQ(entries[2], static_cast<std::uint32_t>(kLast) | kOnePath[2] << 24);
}

}  // namespace
}  // namespace interlacer
