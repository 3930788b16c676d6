/// Anchors of message passing against a search by hand, over all tokens and for each time apart;
/// the indexes that find neighbours.

#include "model/graph/token_graph.h"

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "knn/recall.h"
#include "model/graph/token_neighbors.h"
#include "tests/model/tiny_scene.h"

namespace interlacer::testing {
namespace {

constexpr int kOlder = 60, kNewer = 50, kKinematic = 20;
constexpr int kGraphTokens = kOlder + kNewer + 3 * kKinematic;
constexpr int kGraphNeighbors = 5;

/// 0, 1 or 2 for t-2, t-1 and t.
int TimeOf(std::int64_t token) {
  if (token < kOlder) return 0;
  if (token < kOlder + kNewer) return 1;
  return static_cast<int>((token - kOlder - kNewer) / kKinematic);
}

struct AnchorCase {
  GraphScope scope;
  bool has_ties;
};

class Anchors : public ::testing::TestWithParam<AnchorCase> {
 protected:
  Anchors() {
    InterlacerConfig config = TinyConfig();
    config.network.local.kind = LocalLayer::kMessagePassing;
    config.network.local.anchor_neighbor_count = kGraphNeighbors;
    config.graph.scope = GetParam().scope;
    tokens_.workspace = config.data.workspace;
    tokens_.positions_m =
        ToPositions(GetParam().has_ties ? LatticeCloud(6) : CubeCloud(kGraphTokens, 3))
            .narrow(0, 0, kGraphTokens)
            .contiguous();
    tokens_.older_count = kOlder;
    tokens_.newer_count = kNewer;
    tokens_.kinematic_count = kKinematic;
    graph_ = *BindTokenGraph(config, nullptr)(tokens_, 7).anchors;
  }

  bool MayMeet(std::int64_t a, std::int64_t b) const {
    return a != b && (GetParam().scope == GraphScope::kAll || TimeOf(a) == TimeOf(b));
  }
  float Distance(std::int64_t a, std::int64_t b) const {
    return (tokens_.positions_m[a] - tokens_.positions_m[b]).square().sum().item<float>();
  }

  TokenSet tokens_;
  AnchorGraph graph_;
};

TEST_P(Anchors, LookAtTheNearestTokensTheyMayMeet) {
  for (std::int64_t row = 0; row < graph_.anchors.size(0); ++row) {
    const auto anchor = graph_.anchors[row].item<std::int64_t>();
    std::vector<std::pair<float, std::int64_t>> expected;
    for (std::int64_t token = 0; token < kGraphTokens; ++token) {
      if (MayMeet(anchor, token)) expected.emplace_back(Distance(anchor, token), token);
    }
    std::sort(expected.begin(), expected.end());
    for (int n = 0; n < kGraphNeighbors; ++n) {
      ASSERT_EQ(graph_.neighbors[row][n].item<std::int64_t>(), expected[n].second)
          << "anchor " << anchor << ", neighbour " << n;
    }
  }
}

TEST_P(Anchors, ServeTheTokensTheyAreClosestTo) {
  for (std::int64_t row = 0; row < graph_.others.size(0); ++row) {
    const auto token = graph_.others[row].item<std::int64_t>();
    float nearest = std::numeric_limits<float>::infinity();
    std::int64_t expected = -1;
    for (std::int64_t a = 0; a < graph_.anchors.size(0); ++a) {
      const auto anchor = graph_.anchors[a].item<std::int64_t>();
      if (!MayMeet(token, anchor) || Distance(token, anchor) >= nearest) continue;
      nearest = Distance(token, anchor);
      expected = a;
    }
    ASSERT_EQ(graph_.closest[row].item<std::int64_t>(), expected) << "token " << token;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Scopes, Anchors,
    ::testing::Values(AnchorCase{GraphScope::kAll, false}, AnchorCase{GraphScope::kPerTime, false},
                      AnchorCase{GraphScope::kAll, true}, AnchorCase{GraphScope::kPerTime, true}),
    [](const auto& test) {
      return std::string(test.param.scope == GraphScope::kAll ? "All" : "PerTime") +
             (test.param.has_ties ? "WithTies" : "");
    });

class GraphIndexes : public ::testing::TestWithParam<GraphScope> {
 protected:
  void SetUp() override {
    if (!KnnBackendAvailable(KnnBackend::kFaissFlat)) GTEST_SKIP() << "built without FAISS";
    config_ = TinyConfig();
    config_.graph.scope = GetParam();
    tokens_.workspace = config_.data.workspace;
    tokens_.older_count = kMany;
    tokens_.newer_count = kMany;
    tokens_.kinematic_count = kKinematic;
    tokens_.positions_m = ToPositions(CubeCloud(2 * kMany + 3 * kKinematic, 3));
  }
  KnnGraph GraphOf(KnnBackend index) {
    config_.graph.index = index;
    return GraphOnHost(tokens_, 3, config_.graph);
  }

  static constexpr int kMany = 3000;
  InterlacerConfig config_;
  TokenSet tokens_;
};

TEST_P(GraphIndexes, FlatGivesTheGridsGraphAndWalks) {
  EXPECT_EQ(GraphOf(KnnBackend::kFaissFlat).neighbors, GraphOf(KnnBackend::kGrid).neighbors);
  const WalkMask grid = *BindTokenGraph(config_, nullptr)(tokens_, 7).mask;
  config_.graph.index = KnnBackend::kFaissFlat;
  const WalkMask flat = *BindTokenGraph(config_, nullptr)(tokens_, 7).mask;
  ASSERT_EQ(flat.pair_count(), grid.pair_count());
  EXPECT_TRUE(std::equal(flat.entries(), flat.entries() + flat.pair_count(), grid.entries()));
}

TEST_P(GraphIndexes, IvfFindsMostNeighbours) {
  const KnnGraph exact = GraphOf(KnnBackend::kGrid), found = GraphOf(KnnBackend::kFaissIvf);
  EXPECT_GT(Recall(found, exact), 0.9);
  const int threads = at::get_num_threads();
  for (const int count : {1, 5}) {
    at::set_num_threads(count);
    EXPECT_EQ(GraphOf(KnnBackend::kFaissIvf).neighbors, found.neighbors) << count << " threads";
  }
  at::set_num_threads(threads);
}

TEST_P(GraphIndexes, AnchorsUseTheIndexToo) {
  config_.network.local.kind = LocalLayer::kMessagePassing;
  config_.network.local.anchor_neighbor_count = kGraphNeighbors;
  const auto anchors = [&](KnnBackend index) {
    config_.graph.index = index;
    return *BindTokenGraph(config_, nullptr)(tokens_, 7).anchors;
  };
  const AnchorGraph grid = anchors(KnnBackend::kGrid), flat = anchors(KnnBackend::kFaissFlat);
  EXPECT_TRUE(at::equal(flat.neighbors, grid.neighbors));
  EXPECT_TRUE(at::equal(flat.closest, grid.closest));
  const AnchorGraph ivf = anchors(KnnBackend::kFaissIvf);
  const KnnGraph graph = GraphOnHost(tokens_, kGraphNeighbors, config_.graph);
  const torch::Tensor rows =
      at::tensor(graph.neighbors, at::kLong).reshape({graph.n, graph.out_degree});
  EXPECT_TRUE(at::equal(ivf.neighbors, rows.index_select(0, ivf.anchors)));
}

INSTANTIATE_TEST_SUITE_P(Scopes, GraphIndexes,
                         ::testing::Values(GraphScope::kAll, GraphScope::kPerTime),
                         [](const auto& test) {
                           return std::string(test.param == GraphScope::kAll ? "All" : "PerTime");
                         });

}  // namespace
}  // namespace interlacer::testing
