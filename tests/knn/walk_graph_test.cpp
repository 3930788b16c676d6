#include "knn/walk_graph.h"

#include <gtest/gtest.h>

#include "knn/brute_force.h"
#include "knn/walk_lists.h"
#include "tests/support/clouds.h"

namespace interlacer {
namespace {

constexpr std::uint64_t kWalkGraphSeed = 20264;

TEST(BuildWalkGraph, IsItsPartsInOneGo) {
  const std::vector<float> cloud = testing::SheetCloud(1000, kWalkGraphSeed);
  const StatusOr<WalkGraph> built = BuildWalkGraph(cloud, {});
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  const KnnGraph graph = *BruteForceIndex().Graph(cloud, 3);
  const WalkLists lists = *BuildWalkLists(graph);
  EXPECT_EQ(built->graph.neighbors, graph.neighbors);
  EXPECT_EQ(built->lists.offsets, lists.offsets);
  EXPECT_EQ(built->lists.entries, lists.entries);
  EXPECT_EQ(built->transposed.entry_index, Transpose(lists).entry_index);
}

TEST(BuildWalkGraph, LeavesTheTransposeOutOnRequest) {
  WalkGraphOptions options;
  options.with_transposed = false;
  EXPECT_TRUE(
      BuildWalkGraph(testing::CubeCloud(50, kWalkGraphSeed), options)->transposed.roots.empty());
}

TEST(BuildWalkGraph, EmptyAndOnePoint) {
  EXPECT_TRUE(BuildWalkGraph({}, {})->lists.entries.empty());
  const WalkGraph one = *BuildWalkGraph(std::vector<float>{1, 2, 3}, {});
  EXPECT_EQ(one.lists.entries, (std::vector<std::uint32_t>{PackWalkEntry(0, 1, 0, 0, 0)}));
}

TEST(BuildWalkGraph, PassesOnTheErrorOfTheCloud) {
  const std::vector<float> cloud = {0, 0, NAN};
  EXPECT_EQ(BuildWalkGraph(cloud, {}).status().reason(), reason::NOT_FINITE);
}

}  // namespace
}  // namespace interlacer
