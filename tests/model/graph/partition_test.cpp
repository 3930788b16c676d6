/// Rows of parts of a graph, each with a halo of as many hops as walks have, are those of the
/// whole.

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "knn/sparse_graph.h"
#include "knn/walk_lists.h"
#include "model/graph/walk_sampler.h"
#include "tests/model/graph/sampled_walks.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"

namespace interlacer {
namespace {

constexpr int kPoints = 800, kParts = 4, kNeighbors = 3;
constexpr std::uint64_t kPartitionSeed = 20271;

/// Some nodes of a graph, ascending, and the edges that a part of it knows.
struct Part {
  std::vector<std::int32_t> nodes;
  std::vector<std::int32_t> owned;  ///< places in `nodes`
  std::vector<bool> has_edges;      ///< nodes less than `halo_hops` hops from an owned one
};

/// The nodes of one slab of the cloud, and those within `halo_hops` hops of them.
Part PartOf(const KnnGraph& graph, const std::vector<float>& cloud_m, int slab, int halo_hops) {
  std::set<std::int32_t> owned, inner, all;
  for (std::int32_t i = 0; i < graph.n; ++i) {
    const double share = cloud_m[3 * static_cast<std::size_t>(i)] + 0.5;  // of the cube's edge
    if (std::clamp(static_cast<int>(share * kParts), 0, kParts - 1) == slab) owned.insert(i);
  }
  all = owned;
  for (int hop = 0; hop < halo_hops; ++hop) {
    inner = all;
    for (const std::int32_t i : inner) {
      const auto first = graph.neighbors.begin() + std::int64_t{i} * graph.out_degree;
      all.insert(first, first + graph.out_degree);
    }
  }
  Part part{{all.begin(), all.end()}, {}, {}};
  for (std::size_t place = 0; place < part.nodes.size(); ++place) {
    if (owned.count(part.nodes[place]) > 0) part.owned.push_back(static_cast<std::int32_t>(place));
    part.has_edges.push_back(inner.count(part.nodes[place]) > 0);
  }
  return part;
}

std::int32_t PlaceOf(const Part& part, std::int32_t node) {
  return static_cast<std::int32_t>(std::lower_bound(part.nodes.begin(), part.nodes.end(), node) -
                                   part.nodes.begin());
}

/// Nodes at the border, whose edges the part does not know, have edges to themselves.
KnnGraph Neighbors(const KnnGraph& graph, const Part& part) {
  KnnGraph own{static_cast<std::int64_t>(part.nodes.size()), graph.out_degree, {}};
  for (std::size_t place = 0; place < part.nodes.size(); ++place) {
    for (int r = 0; r < graph.out_degree; ++r) {
      const std::int64_t edge = std::int64_t{part.nodes[place]} * graph.out_degree + r;
      own.neighbors.push_back(part.has_edges[place] ? PlaceOf(part, graph.neighbors[edge])
                                                    : static_cast<std::int32_t>(place));
    }
  }
  return own;
}

/// Nodes at the border have none.
WeightedGraph WeightedEdges(const WeightedGraph& graph, const Part& part) {
  WeightedGraph own;
  own.n = static_cast<std::int64_t>(part.nodes.size());
  own.offsets = {0};
  own.keys = part.nodes;
  for (std::size_t place = 0; place < part.nodes.size(); ++place) {
    const std::int32_t node = part.nodes[place];
    for (std::int32_t e = graph.offsets[node]; e < graph.offsets[node + 1]; ++e) {
      if (!part.has_edges[place]) continue;
      own.neighbors.push_back(PlaceOf(part, graph.neighbors[e]));
      own.weights.push_back(graph.weights[e]);
    }
    own.offsets.push_back(static_cast<std::int32_t>(own.neighbors.size()));
  }
  return own;
}

/// Owned rows whose lists differ from the whole graph's.
int CountOtherLists(const WalkLists& whole, const WalkLists& own, const Part& part) {
  int count = 0;
  for (const std::int32_t place : part.owned) {
    std::vector<std::uint32_t> row;
    for (std::int32_t e = own.offsets[place]; e < own.offsets[place + 1]; ++e) {
      const std::uint32_t entry = own.entries[e];
      row.push_back(static_cast<std::uint32_t>(part.nodes[WalkEntryNode(entry)]) |
                    WalkEntryCode(entry) << kWalkCodeShift);
    }
    const std::int32_t node = part.nodes[place];
    const std::vector<std::uint32_t> expected(whole.entries.begin() + whole.offsets[node],
                                              whole.entries.begin() + whole.offsets[node + 1]);
    if (row != expected) ++count;
  }
  return count;
}

/// The same of rows of any loads, to the bit.
template <typename Lists>
int CountOtherLoads(const Lists& whole, const Lists& own, const Part& part, int width) {
  int count = 0;
  for (const std::int32_t place : part.owned) {
    const std::int32_t node = part.nodes[place];
    const std::int32_t length = own.offsets[place + 1] - own.offsets[place];
    bool is_equal = length == whole.offsets[node + 1] - whole.offsets[node];
    for (std::int32_t e = 0; e < length && is_equal; ++e) {
      const std::int32_t at = own.offsets[place] + e, there = whole.offsets[node] + e;
      is_equal = part.nodes[own.nodes[at]] == whole.nodes[there];
      for (int t = 0; t < width; ++t) {
        is_equal = is_equal && own.loads[at * width + t] == whole.loads[there * width + t];
      }
    }
    if (!is_equal) ++count;
  }
  return count;
}

class Partition : public ::testing::Test {
 protected:
  const std::vector<float> cloud_m_ = testing::CubeCloud(kPoints, kPartitionSeed);
  const KnnGraph graph_ = testing::BruteForceGraph(cloud_m_, kNeighbors);
};

TEST_F(Partition, CountsOfWalksNeedAHaloOfThreeHops) {
  const WalkLists whole = *BuildWalkLists(graph_);
  int owned = 0, wrong_without = 0;
  for (int slab = 0; slab < kParts; ++slab) {
    const Part part = PartOf(graph_, cloud_m_, slab, kMaxHops);
    ASSERT_LT(part.owned.size(), part.nodes.size()) << "no halo";
    EXPECT_EQ(CountOtherLists(whole, *BuildWalkLists(Neighbors(graph_, part)), part), 0);
    owned += static_cast<int>(part.owned.size());
    const Part narrow = PartOf(graph_, cloud_m_, slab, kMaxHops - 1);
    wrong_without += CountOtherLists(whole, *BuildWalkLists(Neighbors(graph_, narrow)), narrow);
  }
  EXPECT_EQ(owned, kPoints);
  EXPECT_GT(wrong_without, 0);
}

TEST_F(Partition, SumsOfWeightedWalksNeedAHaloOfThreeHops) {
  const SparseGraph edges = *ToSparse(graph_);
  const WeightedGraph weighted =
      *ToWeightedGraph(edges, *EdgeWeights(edges, EdgeWeight::kExpDistance, cloud_m_));
  const std::vector<float> weights(weighted.weights.begin(), weighted.weights.end());
  const WeightedWalkLists whole = *BuildWeightedWalkLists(edges, weights);
  int wrong_without = 0;
  for (int slab = 0; slab < kParts; ++slab) {
    const auto count_other = [&](int halo_hops) {
      const Part part = PartOf(graph_, cloud_m_, slab, halo_hops);
      const WeightedGraph own = WeightedEdges(weighted, part);
      const std::vector<float> own_weights(own.weights.begin(), own.weights.end());
      return CountOtherLoads(
          whole, *BuildWeightedWalkLists({own.n, own.offsets, own.neighbors}, own_weights), part,
          kMaxHops + 1);
    };
    EXPECT_EQ(count_other(kMaxHops), 0);
    wrong_without += count_other(kMaxHops - 1);
  }
  EXPECT_GT(wrong_without, 0);
}

TEST_F(Partition, SampledWalksAreThoseOfTheirNodesNumbers) {
  const SparseGraph edges = *ToSparse(graph_);
  const WeightedGraph weighted =
      *ToWeightedGraph(edges, *EdgeWeights(edges, EdgeWeight::kInverseSqrtDegree, cloud_m_));
  for (const WalkSampler sampler : {WalkSampler::kIid, WalkSampler::kAntithetic,
                                    WalkSampler::kRepelling, WalkSampler::kRepellingPerPrefix}) {
    for (const double halt : {0.0, 0.2}) {
      for (const int hops : {0, 1, 3}) {
        const auto sampled = [&](const WeightedGraph& graph) {
          return testing::Sampled(graph, sampler, 8, halt, kPartitionSeed, hops);
        };
        const WalkLoads whole = sampled(weighted);
        int by_place = 0;
        for (int slab = 0; slab < kParts; ++slab) {
          const Part part = PartOf(graph_, cloud_m_, slab, hops);
          WeightedGraph own = WeightedEdges(weighted, part);
          EXPECT_EQ(CountOtherLoads(whole, sampled(own), part, hops + 1), 0)
              << static_cast<int>(sampler) << " halt " << halt << " hops " << hops;
          own.keys.clear();
          by_place += CountOtherLoads(whole, sampled(own), part, hops + 1);
        }
        // Without their numbers nodes take other walks.
        if (hops > 0) {
          EXPECT_GT(by_place, kPoints / 2);
        }
      }
    }
  }
}

TEST_F(Partition, KeysAreNoneOrOneForEveryNode) {
  const SparseGraph edges = *ToSparse(graph_);
  WeightedGraph weighted = *ToWeightedGraph(edges, *EdgeWeights(edges, EdgeWeight::kUniform, {}));
  weighted.keys.assign(7, 0);
  const Status status = SampleWalks(weighted, WalkSamplerOptions{}).status();
  EXPECT_EQ(status.reason(), reason::SHAPE_MISMATCH);
  EXPECT_EQ(status.field(), "graph.keys");
  EXPECT_EQ(status.metadata().at("got"), "7");
}

}  // namespace
}  // namespace interlacer
