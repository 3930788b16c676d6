#include "knn/knn_index.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "common/thread_pool.h"
#include "knn/recall.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using ::interlacer::testing::AwkwardClouds;
using ::interlacer::testing::Cloud;
using ::interlacer::testing::CubeCloud;
using ::interlacer::testing::NamedCloud;

constexpr std::uint64_t kKnnIndexSeed = 20261;

/// A back end and how far it may differ from the oracle.
enum class Promise { kSameIndices, kSameDistances, kRecall };
struct Case {
  KnnBackend backend;
  Promise promise;
};

class KnnIndexTest : public ::testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    if (!KnnBackendAvailable(GetParam().backend)) {
      GTEST_SKIP() << KnnBackendName(GetParam().backend) << " is not in this build or machine";
    }
    index_ = *MakeKnnIndex(GetParam().backend);
  }

  KnnGraph GraphOf(const Cloud& cloud, int k) {
    StatusOr<KnnGraph> graph = index_->Graph(cloud, k);
    EXPECT_TRUE(graph.ok()) << graph.status().ToString();
    return graph.ok() ? *graph : KnnGraph();
  }

  void ExpectLikeOracle(const NamedCloud& cloud, int k) {
    SCOPED_TRACE(cloud.name + ", k = " + std::to_string(k));
    const KnnGraph exact = testing::BruteForceGraph(cloud.positions_m, k);
    const KnnGraph graph = GraphOf(cloud.positions_m, k);
    ASSERT_EQ(graph.n, exact.n);
    ASSERT_EQ(graph.out_degree, exact.out_degree);
    switch (GetParam().promise) {
      case Promise::kSameIndices:
        EXPECT_EQ(graph.neighbors, exact.neighbors);
        break;
      case Promise::kSameDistances:
        ExpectSameDistances(cloud.positions_m, graph, exact);
        break;
      case Promise::kRecall:
        break;
    }
  }

  static void ExpectSameDistances(const Cloud& cloud, const KnnGraph& graph,
                                  const KnnGraph& exact) {
    double scale = 0;
    for (const float c : cloud) scale = std::max<double>(scale, std::abs(c));
    for (std::size_t e = 0; e < exact.neighbors.size(); ++e) {
      const std::size_t i = e / exact.out_degree;
      const double ours = SquaredDistance(&cloud[3 * i], &cloud[3 * graph.neighbors[e]]);
      const double oracle = SquaredDistance(&cloud[3 * i], &cloud[3 * exact.neighbors[e]]);
      ASSERT_NEAR(ours, oracle, testing::kForeignDistanceTolerance * scale * scale) << "edge " << e;
    }
  }

  std::unique_ptr<KnnIndex> index_;
};

TEST_P(KnnIndexTest, AwkwardCloudsAgreeWithTheOracle) {
  for (const NamedCloud& cloud : AwkwardClouds(1500, kKnnIndexSeed)) {
    const bool finite_distances = cloud.name != "distances_overflow";
    if (GetParam().promise != Promise::kSameIndices && !finite_distances) continue;
    ExpectLikeOracle(cloud, 3);
  }
}

TEST_P(KnnIndexTest, OtherNeighbourCountsAgreeWithTheOracle) {
  for (const int k : {1, 2, 4, 16}) ExpectLikeOracle({"cube", CubeCloud(700, kKnnIndexSeed)}, k);
}

TEST_P(KnnIndexTest, EverySizeUpToTen) {
  for (int n = 0; n <= 10; ++n) {
    const Cloud cloud = CubeCloud(n, kKnnIndexSeed);
    const KnnGraph graph = GraphOf(cloud, 3);
    EXPECT_EQ(graph.n, n);
    EXPECT_EQ(graph.out_degree, std::clamp(n - 1, 0, 3));
    ExpectLikeOracle({"cube", cloud}, 3);
  }
}

TEST_P(KnnIndexTest, EmptyCloudGivesAnEmptyGraph) {
  const KnnGraph graph = GraphOf({}, 3);
  EXPECT_EQ(graph.n, 0);
  EXPECT_TRUE(graph.neighbors.empty());
}

TEST_P(KnnIndexTest, OnePointHasNoNeighbours) {
  const KnnGraph graph = GraphOf({1, 2, 3}, 3);
  EXPECT_EQ(graph.n, 1);
  EXPECT_EQ(graph.out_degree, 0);
}

TEST_P(KnnIndexTest, MoreNeighboursThanPointsGivesAllOthers) {
  const KnnGraph graph = GraphOf({0, 0, 0, 1, 0, 0, 3, 0, 0}, 7);
  EXPECT_EQ(graph.out_degree, 2);
  EXPECT_EQ(graph.neighbors, (std::vector<std::int32_t>{1, 2, 0, 2, 1, 0}));
}

TEST_P(KnnIndexTest, SelfIsExcludedByIndexNotByDistance) {
  for (const NamedCloud& cloud : AwkwardClouds(200, kKnnIndexSeed)) {
    const KnnGraph graph = GraphOf(cloud.positions_m, 3);
    for (std::int64_t i = 0; i < graph.n; ++i) {
      for (int r = 0; r < graph.out_degree; ++r) ASSERT_NE(graph.neighbors[3 * i + r], i);
    }
  }
}

TEST_P(KnnIndexTest, NotANumberIsRefusedByName) {
  Cloud cloud = CubeCloud(20, kKnnIndexSeed);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    cloud[3 * 7 + 1] = bad;
    const Status graph = index_->Graph(cloud, 3).status();
    EXPECT_EQ(graph.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(graph.reason(), reason::NOT_FINITE);
    EXPECT_EQ(graph.field(), "positions_m[7]");
  }
}

TEST_P(KnnIndexTest, FewerThanOneNeighbourIsRefused) {
  for (const int k : {0, -3}) {
    EXPECT_EQ(index_->Graph(CubeCloud(20, kKnnIndexSeed), k).status().reason(),
              reason::ARGUMENT_INVALID);
  }
}

TEST_P(KnnIndexTest, HalfAPointIsRefused) {
  EXPECT_EQ(index_->Graph(Cloud{1, 2, 3, 4}, 3).status().reason(), reason::SHAPE_MISMATCH);
}

TEST_P(KnnIndexTest, RecallOnATableSeenTwice) {
  constexpr double kLeastRecall = 0.95;  // of the approximate index; the others find all
  const Cloud cloud = testing::SheetCloud(8192, kKnnIndexSeed);
  const double recall = Recall(GraphOf(cloud, 3), testing::BruteForceGraph(cloud, 3));
  RecordProperty("recall", std::to_string(recall));
  std::printf("recall of %s at k = 3, 8192 points: %.4f\n",
              std::string(KnnBackendName(GetParam().backend)).c_str(), recall);
  EXPECT_GE(recall, GetParam().promise == Promise::kSameIndices ? 1 : kLeastRecall);
}

INSTANTIATE_TEST_SUITE_P(Backends, KnnIndexTest,
                         ::testing::Values(Case{KnnBackend::kGrid, Promise::kSameIndices},
                                           Case{KnnBackend::kFaissFlat, Promise::kSameDistances},
                                           Case{KnnBackend::kFaissIvf, Promise::kRecall}),
                         [](const auto& test) {
                           return std::string(KnnBackendName(test.param.backend));
                         });

TEST(BruteForce, TiesOnALatticeGoToTheSmallerIndex) {
  // Point (1,1,1) of a 3^3 lattice has index 13 and six neighbours at distance 1.
  const KnnGraph graph = testing::BruteForceGraph(testing::LatticeCloud(3), 6);
  const std::vector<std::int32_t> row(graph.neighbors.begin() + 13 * 6,
                                      graph.neighbors.begin() + 14 * 6);
  EXPECT_EQ(row, (std::vector<std::int32_t>{4, 10, 12, 14, 16, 22}));
}

TEST(BruteForce, CoincidentPointsAreEachOthersNeighbours) {
  const KnnGraph graph = testing::BruteForceGraph(testing::CoincidentCloud(5), 3);
  EXPECT_EQ(graph.neighbors, (std::vector<std::int32_t>{1, 2, 3, 0, 2, 3, 0, 1, 3, 0, 1, 2,  //
                                                        0, 1, 2}));
}

/// Points at random have no ties.
TEST(Faiss, FlatGivesTheGridsGraphWhereNothingTies) {
  if (!KnnBackendAvailable(KnnBackend::kFaissFlat)) GTEST_SKIP() << "built without FAISS";
  for (const Cloud& cloud :
       {CubeCloud(5000, kKnnIndexSeed), testing::SheetCloud(5000, kKnnIndexSeed)}) {
    const KnnGraph flat = *(*MakeKnnIndex(KnnBackend::kFaissFlat))->Graph(cloud, 3);
    EXPECT_EQ(flat.neighbors, (*MakeKnnIndex(KnnBackend::kGrid))->Graph(cloud, 3)->neighbors);
  }
}

TEST_P(KnnIndexTest, EqualGraphsForAnyThreadCount) {
  const Cloud cloud = CubeCloud(4000, kKnnIndexSeed);
  SetThreadCount(1);
  const KnnGraph one = GraphOf(cloud, 3);
  SetThreadCount(5);
  EXPECT_EQ(GraphOf(cloud, 3).neighbors, one.neighbors);
  EXPECT_EQ(GraphOf(cloud, 3).neighbors, one.neighbors);
  SetThreadCount(0);
}

TEST(KnnBackends, AbsentOnesSayUnimplemented) {
  if (KnnBackendAvailable(KnnBackend::kFaissFlat)) GTEST_SKIP() << "this build has every back end";
  EXPECT_EQ(MakeKnnIndex(KnnBackend::kFaissFlat).status().code(), StatusCode::kUnimplemented);
}

}  // namespace
}  // namespace interlacer
