#include "knn/walk_lists.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "knn/sparse_graph.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"
#include "tests/support/weighted_lists.h"

namespace interlacer {
namespace {

using Row = std::map<std::int32_t, std::array<double, 4>>;

constexpr std::uint64_t kWalkListsSeed = 20265;

/// The slow, obvious twin: every walk of up to three hops, one by one.
Row EnumerateRow(const KnnGraph& graph, const std::vector<double>& edge_weights,
                 std::int32_t root) {
  Row row;
  const auto visit = [&](const auto& self, std::int32_t node, int hops, double load) -> void {
    row[node][hops] += load;
    if (hops == 3) return;
    for (int r = 0; r < graph.out_degree; ++r) {
      const std::size_t edge = static_cast<std::size_t>(node) * graph.out_degree + r;
      self(self, graph.neighbors[edge], hops + 1, load * edge_weights[edge]);
    }
  };
  visit(visit, root, 0, 1);
  return row;
}

void ExpectLikeEnumeration(const testing::NamedCloud& cloud, int k) {
  SCOPED_TRACE(cloud.name);
  const KnnGraph graph = testing::BruteForceGraph(cloud.positions_m, k);
  const StatusOr<WalkLists> lists = BuildWalkLists(graph);
  ASSERT_TRUE(lists.ok()) << lists.status().ToString();
  ASSERT_EQ(lists->n, graph.n);
  ASSERT_EQ(lists->offsets.size(), static_cast<std::size_t>(graph.n + 1));
  const std::vector<double> ones(graph.neighbors.size(), 1);
  for (std::int32_t i = 0; i < graph.n; ++i) {
    const Row row = EnumerateRow(graph, ones, i);
    ASSERT_EQ(lists->offsets[i + 1] - lists->offsets[i], static_cast<int>(row.size()));
    std::int32_t e = lists->offsets[i];
    for (const auto& [node, counts] : row) {  // ordered by node
      ASSERT_EQ(WalkEntryNode(lists->entries[e]), static_cast<std::uint32_t>(node));
      for (int hops = 0; hops < 4; ++hops) {
        ASSERT_EQ(WalkCodeCount(WalkEntryCode(lists->entries[e]), hops), counts[hops]);
      }
      ++e;
    }
  }
}

TEST(WalkLists, EqualTheEnumerationOfAllWalks) {
  for (const testing::NamedCloud& cloud : testing::AwkwardClouds(600, kWalkListsSeed)) {
    ExpectLikeEnumeration(cloud, 3);
  }
}

TEST(WalkLists, EqualTheEnumerationForFewerNeighboursAndPoints) {
  ExpectLikeEnumeration({"cube", testing::CubeCloud(300, kWalkListsSeed)}, 1);
  ExpectLikeEnumeration({"cube", testing::CubeCloud(300, kWalkListsSeed)}, 2);
  for (int n = 0; n <= 5; ++n)
    ExpectLikeEnumeration({"few", testing::CubeCloud(n, kWalkListsSeed)}, 3);
}

std::uint32_t PackedEntry(std::uint32_t node, std::uint32_t c0, std::uint32_t c1, std::uint32_t c2,
                          std::uint32_t c3) {
  return node | (c0 | c1 << 1 | c2 << 2 | c3 << 4) << kWalkCodeShift;
}

TEST(WalkLists, FourPointsReachTheBoundOfEveryCount) {
  // The complete graph on four nodes: 6 closed walks of three hops, 7 to each other node.
  const WalkLists lists =
      *BuildWalkLists(testing::BruteForceGraph(testing::CubeCloud(4, kWalkListsSeed), 3));
  ASSERT_EQ(lists.entries.size(), 16u);
  EXPECT_EQ(lists.entries[0], PackedEntry(0, 1, 0, 3, 6));
  EXPECT_EQ(lists.entries[1], PackedEntry(1, 0, 1, 2, 7));
}

TEST(WalkLists, NineWalksOfThreeHopsFitTheCode) {
  // 0 -> {1,2,3}, each of which -> {4,5,6}, each of which -> {7,8,9}: nine walks 0 -> 7.
  KnnGraph graph{10, 3, {}};
  for (int i = 0; i < 10; ++i) {
    const int first = i == 0 ? 1 : i <= 3 ? 4 : i <= 6 ? 7 : 0;
    for (int r = 0; r < 3; ++r) graph.neighbors.push_back((first + r) % 10);
  }
  const WalkLists lists = *BuildWalkLists(graph);
  bool found = false;
  for (std::int32_t e = lists.offsets[0]; e < lists.offsets[1]; ++e) {
    if (WalkEntryNode(lists.entries[e]) != 7) continue;
    found = true;
    EXPECT_EQ(WalkCodeCount(WalkEntryCode(lists.entries[e]), 3), 9);
  }
  EXPECT_TRUE(found);
}

TEST(WalkLists, RefuseMoreThanThreeNeighbours) {
  const KnnGraph graph = testing::BruteForceGraph(testing::CubeCloud(30, kWalkListsSeed), 4);
  EXPECT_EQ(BuildWalkLists(graph).status().reason(), reason::ARGUMENT_INVALID);
}

TEST(WalkLists, RefuseAGraphWhoseSizesDisagree) {
  EXPECT_EQ(BuildWalkLists(KnnGraph{4, 3, {1, 2, 3}}).status().reason(), reason::SHAPE_MISMATCH);
}

TEST(WalkLists, RefuseNeighboursThatAreNoNodes) {
  for (const std::int32_t node : {-1, 2}) {
    EXPECT_EQ(BuildWalkLists(KnnGraph{2, 1, {node, 0}}).status().reason(),
              reason::ARGUMENT_INVALID);
  }
}

TEST(WeightedWalkLists, EqualTheEnumerationForEveryWeighting) {
  const std::vector<float> cloud = testing::CubeCloud(250, kWalkListsSeed);
  for (const int k : {3, 5}) {
    const KnnGraph graph = testing::BruteForceGraph(cloud, k);
    const SparseGraph edges = *ToSparse(graph);
    for (const EdgeWeight weighting :
         {EdgeWeight::kUniform, EdgeWeight::kExpDistance, EdgeWeight::kInverseSqrtDegree}) {
      const std::vector<float> weights = *EdgeWeights(edges, weighting, cloud);
      const WeightedWalkLists lists = *BuildWeightedWalkLists(edges, weights);
      for (std::int32_t i = 0; i < graph.n; ++i) {
        const Row row = EnumerateRow(graph, {weights.begin(), weights.end()}, i);
        ASSERT_EQ(lists.offsets[i + 1] - lists.offsets[i], static_cast<int>(row.size()));
        std::int32_t e = lists.offsets[i];
        for (const auto& [node, loads] : row) {
          ASSERT_EQ(lists.nodes[e], node);
          for (int hops = 0; hops < 4; ++hops) {
            ASSERT_NEAR(lists.loads[4 * e + hops], loads[hops],
                        testing::kExactFloatLoadTolerance * loads[hops]);
          }
          ++e;
        }
      }
    }
  }
}

TEST(WeightedWalkLists, OfConstantEdgesAreTheCountsOverPowersOfTheDegree) {
  const KnnGraph graph = testing::BruteForceGraph(testing::CubeCloud(400, kWalkListsSeed), 3);
  const SparseGraph edges = *ToSparse(graph);
  const WeightedWalkLists from_counts = testing::ToWeighted(*BuildWalkLists(graph));
  const WeightedWalkLists direct =
      *BuildWeightedWalkLists(edges, *EdgeWeights(edges, EdgeWeight::kUniform, {}));
  ASSERT_EQ(from_counts.offsets, direct.offsets);
  ASSERT_EQ(from_counts.nodes, direct.nodes);
  for (std::size_t x = 0; x < direct.loads.size(); ++x) {
    ASSERT_NEAR(from_counts.loads[x], direct.loads[x], testing::kExactFloatLoadTolerance);
  }
}

TEST(EdgeWeights, FollowTheirFormulas) {
  // Points on a line at 0, 1, 3: one neighbour each, edges 0-1 (1 m), 1-0 (1 m), 2-1 (2 m).
  const std::vector<float> cloud = {0, 0, 0, 1, 0, 0, 3, 0, 0};
  const KnnGraph graph = testing::BruteForceGraph(cloud, 1);
  const SparseGraph edges = *ToSparse(graph);
  ASSERT_EQ(graph.neighbors, (std::vector<std::int32_t>{1, 0, 1}));
  const std::vector<float> by_distance = *EdgeWeights(edges, EdgeWeight::kExpDistance, cloud);
  EXPECT_FLOAT_EQ(by_distance[0], std::exp(-0.5f));  // the median edge is 1 m
  EXPECT_FLOAT_EQ(by_distance[2], std::exp(-2.0f));
  const std::vector<float> by_degree = *EdgeWeights(edges, EdgeWeight::kInverseSqrtDegree, {});
  EXPECT_FLOAT_EQ(by_degree[0], 1 / std::sqrt(2.0f));  // node 1 has in-degree 2
  EXPECT_FLOAT_EQ(by_degree[1], 1);
}

TEST(EdgeWeights, OfCoincidentPointsAreOne) {
  const std::vector<float> cloud = testing::CoincidentCloud(6);
  const KnnGraph graph = testing::BruteForceGraph(cloud, 3);
  const SparseGraph edges = *ToSparse(graph);
  EXPECT_EQ(*EdgeWeights(edges, EdgeWeight::kExpDistance, cloud), std::vector<float>(18, 1));
}

TEST(EdgeWeights, RefusePositionsOfAnotherCloud) {
  const KnnGraph graph = testing::BruteForceGraph(testing::CubeCloud(6, kWalkListsSeed), 3);
  const SparseGraph edges = *ToSparse(graph);
  EXPECT_EQ(EdgeWeights(edges, EdgeWeight::kExpDistance, std::vector<float>(9)).status().reason(),
            reason::SHAPE_MISMATCH);
  EXPECT_EQ(BuildWeightedWalkLists(edges, std::vector<float>(5)).status().reason(),
            reason::SHAPE_MISMATCH);
}

template <typename Lists, typename NodeOf>
void ExpectTransposed(const Lists& lists, const TransposedLists& transposed,
                      const NodeOf& node_of) {
  std::int32_t place = 0;
  for (std::int32_t j = 0; j < lists.n; ++j) {
    ASSERT_EQ(transposed.offsets[j], place);
    for (std::int32_t i = 0; i < lists.n; ++i) {
      for (std::int32_t e = lists.offsets[i]; e < lists.offsets[i + 1]; ++e) {
        if (node_of(e) != j) continue;
        ASSERT_EQ(transposed.roots[place], i);
        ASSERT_EQ(transposed.entry_index[place], e);
        ++place;
      }
    }
  }
  ASSERT_EQ(transposed.offsets[lists.n], place);
}

TEST(TransposedLists, HoldEveryEntryByItsEndNode) {
  const KnnGraph graph = testing::BruteForceGraph(testing::CubeCloud(200, kWalkListsSeed), 3);
  const WalkLists packed = *BuildWalkLists(graph);
  ExpectTransposed(packed, Transpose(packed), [&](std::int32_t e) {
    return static_cast<std::int32_t>(WalkEntryNode(packed.entries[e]));
  });
  const WeightedWalkLists weighted = testing::ToWeighted(packed);
  ExpectTransposed(weighted, Transpose(weighted),
                   [&](std::int32_t e) { return weighted.nodes[e]; });
}

TEST(TransposedLists, OfNothingAreEmpty) {
  const TransposedLists transposed = Transpose(*BuildWalkLists(KnnGraph()));
  EXPECT_EQ(transposed.offsets, (std::vector<std::int32_t>{0}));
  EXPECT_TRUE(transposed.roots.empty());
}

}  // namespace
}  // namespace interlacer
