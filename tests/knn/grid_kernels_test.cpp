#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/kernels/cpu_features.h"
#include "knn/grid_index.h"
#include "knn/kernels/grid_knn.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"

namespace interlacer {
namespace {

constexpr std::uint64_t kGridKernelsSeed = 20262;

struct Body {
  std::string name;
  GridNeighborsFn run;
  bool supported;
};

class GridKernelTest : public ::testing::TestWithParam<Body> {};

constexpr std::int64_t kWhole = std::int64_t{1} << 40;

/// The graph of a cloud, `grain` sorted places a call.
KnnGraph RunBody(GridNeighborsFn run, const std::vector<float>& positions_m, int out_degree,
                 std::int64_t grain = kWhole) {
  const std::int64_t n = static_cast<std::int64_t>(positions_m.size() / 3);
  const CellGrid grid = ChooseCellGrid(positions_m);
  std::vector<float> x(n), y(n), z(n), best_sq_dist(out_degree);
  std::vector<std::int32_t> index(n), cell_of_point(n), best_index(out_degree);
  std::vector<std::int32_t> cell_begin(grid.cell_count() + 1);
  const CellSortedCloud cloud = SortIntoCells(
      grid, positions_m.data(), n,
      {x.data(), y.data(), z.data(), index.data(), cell_begin.data(), cell_of_point.data()});
  KnnGraph graph{n, out_degree, std::vector<std::int32_t>(n * out_degree, -7)};
  for (std::int64_t begin = 0; begin < n; begin += grain) {
    run(grid, cloud, out_degree, begin, std::min(begin + grain, n), best_sq_dist.data(),
        best_index.data(), graph.neighbors.data());
  }
  return graph;
}

TEST_P(GridKernelTest, EveryInstructionSetGivesTheOraclesNeighbours) {
  if (!GetParam().supported) GTEST_SKIP() << "this processor has no " << GetParam().name;
  for (const testing::NamedCloud& cloud : testing::AwkwardClouds(1100, kGridKernelsSeed)) {
    for (const int k : {1, 2, 3, 4, 5, 9}) {
      EXPECT_EQ(RunBody(GetParam().run, cloud.positions_m, k).neighbors,
                testing::BruteForceGraph(cloud.positions_m, k).neighbors)
          << cloud.name << ", k = " << k;
    }
  }
}

TEST_P(GridKernelTest, CutsBetweenCallsDoNotShow) {
  if (!GetParam().supported) GTEST_SKIP() << "this processor has no " << GetParam().name;
  const std::vector<float> positions_m = testing::SheetCloud(700, kGridKernelsSeed);
  const KnnGraph whole = RunBody(GetParam().run, positions_m, 3);
  for (const std::int64_t grain : {1, 5, 8, 13}) {
    EXPECT_EQ(RunBody(GetParam().run, positions_m, 3, grain).neighbors, whole.neighbors) << grain;
  }
}

TEST_P(GridKernelTest, CoincidentPointsComeInOrderOfTheirIndices) {
  if (!GetParam().supported) GTEST_SKIP() << "this processor has no " << GetParam().name;
  const KnnGraph graph = RunBody(GetParam().run, testing::CoincidentCloud(40), 3);
  for (std::int32_t i = 0; i < 40; ++i) {
    const std::vector<std::int32_t> row(graph.neighbors.begin() + 3 * i,
                                        graph.neighbors.begin() + 3 * i + 3);
    const std::vector<std::int32_t> first = {i > 0 ? 0 : 1, i > 1 ? 1 : 2, i > 2 ? 2 : 3};
    EXPECT_EQ(row, first) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(
    InstructionSets, GridKernelTest,
    ::testing::Values(Body{"cpu", cpu::GridNeighbors, true},
                      Body{"avx2", avx2::GridNeighbors, HostCpuFeatures().avx2},
                      Body{"avx512", avx512::GridNeighbors, HostCpuFeatures().avx512}),
    [](const auto& test) { return test.param.name; });

TEST(SortIntoCells, KeepsEveryPointOnceInOrderOfCellThenIndex) {
  const std::vector<float> positions_m = testing::CubeCloud(500, kGridKernelsSeed);
  const CellGrid grid = ChooseCellGrid(positions_m);
  std::vector<float> x(500), y(500), z(500);
  std::vector<std::int32_t> index(500, -1), cell_of_point(500), begin(grid.cell_count() + 1);
  SortIntoCells(grid, positions_m.data(), 500,
                {x.data(), y.data(), z.data(), index.data(), begin.data(), cell_of_point.data()});
  EXPECT_EQ(begin.front(), 0);
  EXPECT_EQ(begin.back(), 500);
  std::vector<int> seen(500, 0);
  for (std::int64_t c = 0; c < grid.cell_count(); ++c) {
    for (std::int32_t p = begin[c]; p < begin[c + 1]; ++p) {
      const float* point = &positions_m[3 * index[p]];
      EXPECT_EQ(CellIndex(grid, CellOnAxis(grid, 0, point[0]), CellOnAxis(grid, 1, point[1]),
                          CellOnAxis(grid, 2, point[2])),
                c);
      EXPECT_TRUE(p == begin[c] || index[p - 1] < index[p]);
      EXPECT_EQ(x[p], point[0]);
      ++seen[index[p]];
    }
  }
  EXPECT_EQ(seen, std::vector<int>(500, 1));
}

TEST(ChooseCellGrid, AimsAtAFewPointsPerOccupiedCellAndStaysSmall) {
  for (const testing::NamedCloud& cloud : testing::AwkwardClouds(20000, kGridKernelsSeed)) {
    const CellGrid grid = ChooseCellGrid(cloud.positions_m);
    EXPECT_GE(grid.cell_count(), 1) << cloud.name;
    EXPECT_LE(grid.cell_count(), 16 * 20000) << cloud.name;
  }
}

}  // namespace
}  // namespace interlacer
