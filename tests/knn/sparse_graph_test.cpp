#include "knn/sparse_graph.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "knn/walk_lists.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

constexpr std::uint64_t kSparseGraphSeed = 20266;

/// Row-major [n,n].
using Dense = std::vector<double>;

Dense Adjacency(const KnnGraph& graph) {
  Dense adjacency(static_cast<std::size_t>(graph.n * graph.n), 0);
  for (std::size_t e = 0; e < graph.neighbors.size(); ++e) {
    const std::size_t i = e / static_cast<std::size_t>(graph.out_degree);
    adjacency[i * static_cast<std::size_t>(graph.n) +
              static_cast<std::size_t>(graph.neighbors[e])] = 1;
  }
  return adjacency;
}

Dense Product(const Dense& a, const Dense& b, std::size_t n) {
  Dense product(n * n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t j = 0; j < n; ++j) product[i * n + j] += a[i * n + k] * b[k * n + j];
    }
  }
  return product;
}

/// The weighted adjacency of the undirected graph, written down from its definition.
Dense UndirectedWeights(const Dense& directed, std::size_t n, EdgeWeight weighting) {
  Dense w(n * n, 0);
  std::vector<double> degree(n, 0);
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      w[i * n + j] = std::max(directed[i * n + j], directed[j * n + i]);
      degree[i] += w[i * n + j];
    }
  }
  for (std::size_t i = 0; i < n; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      w[i * n + j] /=
          weighting == EdgeWeight::kUniform ? degree[i] : std::sqrt(degree[i] * degree[j]);
    }
  }
  return w;
}

TEST(Symmetrised, ListsAreThePowersOfTheDenseAdjacency) {
  constexpr std::size_t kPoints = 120;
  const std::vector<float> cloud = testing::SheetCloud(kPoints, kSparseGraphSeed);
  const KnnGraph directed = testing::BruteForceGraph(cloud, 3);
  const SparseGraph graph = *Symmetrised(directed);
  for (const EdgeWeight weighting : {EdgeWeight::kUniform, EdgeWeight::kInverseSqrtDegree}) {
    const WeightedWalkLists lists =
        *BuildWeightedWalkLists(graph, *EdgeWeights(graph, weighting, cloud));
    const Dense w = UndirectedWeights(Adjacency(directed), kPoints, weighting);
    Dense power(kPoints * kPoints, 0);
    for (std::size_t i = 0; i < kPoints; ++i) power[i * kPoints + i] = 1;
    for (int hops = 0; hops <= kMaxHops; ++hops) {
      Dense listed(kPoints * kPoints, 0);
      for (std::size_t i = 0; i < kPoints; ++i) {
        for (std::int32_t e = lists.offsets[i]; e < lists.offsets[i + 1]; ++e) {
          listed[i * kPoints + static_cast<std::size_t>(lists.nodes[e])] =
              lists.loads[4 * static_cast<std::size_t>(e) + static_cast<std::size_t>(hops)];
        }
      }
      for (std::size_t x = 0; x < power.size(); ++x) {
        ASSERT_NEAR(listed[x], power[x], testing::kExactFloatLoadTolerance) << "hops " << hops;
      }
      power = Product(power, w, kPoints);
    }
  }
}

TEST(Symmetrised, IsSymmetricHoldsEveryEdgeAndNamesANodeOnce) {
  const KnnGraph directed = testing::BruteForceGraph(testing::CubeCloud(500, kSparseGraphSeed), 3);
  const SparseGraph graph = *Symmetrised(directed);
  const auto has = [&](std::int32_t i, std::int32_t j) {
    return std::binary_search(graph.neighbors.begin() + graph.offsets[i],
                              graph.neighbors.begin() + graph.offsets[i + 1], j);
  };
  for (std::int32_t i = 0; i < graph.n; ++i) {
    EXPECT_FALSE(has(i, i));
    EXPECT_GE(graph.offsets[i + 1] - graph.offsets[i], 3);
    for (std::int32_t e = graph.offsets[i]; e < graph.offsets[i + 1]; ++e) {
      EXPECT_TRUE(has(graph.neighbors[e], i));
      EXPECT_TRUE(e == graph.offsets[i] || graph.neighbors[e - 1] < graph.neighbors[e]);
    }
    for (int r = 0; r < 3; ++r) EXPECT_TRUE(has(i, directed.neighbors[3 * i + r]));
  }
}

TEST(Symmetrised, EmptyAndOnePoint) {
  EXPECT_EQ(Symmetrised({})->neighbors.size(), 0u);
  const SparseGraph one = *Symmetrised({1, 0, {}});
  EXPECT_EQ(one.offsets, (std::vector<std::int32_t>{0, 0}));
  EXPECT_EQ(BuildWeightedWalkLists(one, {})->nodes, (std::vector<std::int32_t>{0}));
}

TEST(SparseGraph, ANodeNearToAllHasTooManyWalks) {
  // All of 30000 points name the first, and it, made symmetric, names them all.
  KnnGraph star{30000, 1, std::vector<std::int32_t>(30000, 0)};
  star.neighbors[0] = 1;
  const SparseGraph both = *Symmetrised(star);
  const std::vector<float> weights(both.neighbors.size(), 1.f);
  const Status status = BuildWeightedWalkLists(both, weights).status();
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_EQ(status.field(), "graph.neighbors");
}

TEST(SparseGraph, TheDensestGraphOfTheLargestModelHasNotTooManyWalks) {
  // Both observations of 32768 particles, and as many neighbours as a configuration may ask for.
  constexpr std::int32_t kNodes = 65536, kNeighbors = 16;
  KnnGraph ring{kNodes, kNeighbors, {}};
  for (std::int32_t i = 0; i < kNodes; ++i) {
    for (std::int32_t r = 1; r <= kNeighbors; ++r) ring.neighbors.push_back((i + r) % kNodes);
  }
  const Status status = CheckWalkCount(*ToSparse(ring));
  EXPECT_TRUE(status.ok()) << status.ToString();
}

TEST(SparseGraph, ANodeHasNotTooManyWalksByItself) {
  // A first node whose neighbours all name it again: walks in all would not be too many.
  constexpr std::int32_t kNodes = 65536, kHubNeighbors = 20000;
  SparseGraph hub{kNodes, {0}, {}};
  for (std::int32_t j = 1; j <= kHubNeighbors; ++j) hub.neighbors.push_back(j);
  hub.offsets.push_back(kHubNeighbors);
  for (std::int32_t j = 1; j < kNodes; ++j) {
    if (j <= kHubNeighbors) hub.neighbors.push_back(0);
    hub.offsets.push_back(static_cast<std::int32_t>(hub.neighbors.size()));
  }
  const Status status = CheckWalkCount(hub);
  EXPECT_EQ(status.code(), StatusCode::kOutOfRange);
  EXPECT_NE(status.message().find("walks from a node"), std::string::npos) << status.ToString();
}

TEST(SparseGraph, RefusesWhatIsNoGraph) {
  EXPECT_EQ(ToSparse({4, 3, {1, 2, 3}}).status().reason(), reason::SHAPE_MISMATCH);
  EXPECT_EQ(Symmetrised({2, 1, {1, 2}}).status().reason(), reason::SHAPE_MISMATCH);
  const std::vector<float> one_weight{1.f};
  EXPECT_EQ(BuildWeightedWalkLists(SparseGraph{2, {0, 2, 1}, {1}}, one_weight).status().reason(),
            reason::SHAPE_MISMATCH);
  EXPECT_EQ(BuildWeightedWalkLists(SparseGraph{2, {0, 1, 1}, {1}}, {}).status().reason(),
            reason::SHAPE_MISMATCH);
}

}  // namespace
}  // namespace interlacer
