#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "knn/kernels/walk_lists_cuda.h"
#include "tests/device/device_array.h"
#include "tests/device/grid_knn_on_device.h"
#include "tests/device/walk_graphs.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 20267;

using Graph = WalkTestGraph;
using Lists = WalkTestLists;

Lists OnDevice(const Graph& graph) {
  const CheckedStream stream;
  const std::int64_t n = graph.n;
  const DeviceArray<std::int32_t> neighbors(stream, graph.neighbors);
  const DeviceArray<std::int32_t> offsets(stream, n + 1), column_offsets(stream, n + 1);
  const DeviceArray<std::uint32_t> entries(stream, n * kMaxWalkRowSize);
  const DeviceArray<std::int32_t> roots(stream, n * kMaxWalkRowSize);
  const DeviceArray<std::int32_t> entry_index(stream, n * kMaxWalkRowSize);
  const DeviceArray<char> lists_workspace(stream,
                                          static_cast<std::int64_t>(WalkListsWorkspaceBytes(n)));
  const DeviceArray<char> transpose_workspace(
      stream, static_cast<std::int64_t>(TransposeWalkListsWorkspaceBytes(n)));
  EXPECT_EQ(LaunchWalkLists({neighbors.get(), graph.degree}, n, lists_workspace.get(),
                            offsets.get(), entries.get(), stream.get()),
            0);
  EXPECT_EQ(LaunchTransposeWalkLists(n, offsets.get(), entries.get(), transpose_workspace.get(),
                                     {column_offsets.get(), roots.get(), entry_index.get()},
                                     stream.get()),
            0);
  Lists lists;
  lists.offsets = offsets.Read();
  lists.column_offsets = column_offsets.Read();
  const std::int64_t nnz = lists.offsets.back();
  lists.entries = entries.Read(nnz);
  lists.roots = roots.Read(nnz);
  lists.entry_index = entry_index.Read(nnz);
  return lists;
}

void ExpectEqual(const Lists& got, const Lists& expected) {
  EXPECT_EQ(got.offsets, expected.offsets);
  EXPECT_EQ(got.entries, expected.entries);
  EXPECT_EQ(got.column_offsets, expected.column_offsets);
  EXPECT_EQ(got.roots, expected.roots);
  EXPECT_EQ(got.entry_index, expected.entry_index);
}

TEST(WalkListsDeviceTest, EqualTheEnumerationOfAllWalks) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<Graph> graphs{RingGraph(40)};
  for (const int n : {1, 2, 3, 5, 31, 32, 33, 200, 2500})
    graphs.push_back(RandomGraph(n, 3, kSeed));
  for (const int degree : {0, 1, 2}) graphs.push_back(RandomGraph(150, degree, kSeed));
  for (const Graph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    ExpectEqual(OnDevice(graph), EnumerateWalks(graph));
  }
}

TEST(WalkListsDeviceTest, ColumnsOfEveryLengthKeepTheOrderOfRoots) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int n : {500, 512, 513, 1100}) {
    const Graph graph = HubGraph(n);
    SCOPED_TRACE(graph.name);
    ExpectEqual(OnDevice(graph), EnumerateWalks(graph));
  }
}

/// From positions to lists as in a step: no index may lie outside of the cloud.
TEST(WalkListsDeviceTest, PointsWithoutAPlaceStayInside) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr int kPoints = 200;
  for (const int without_place : {1, 50, kPoints}) {
    Cloud cloud = CubeCloud(kPoints, kSeed);
    std::fill_n(cloud.begin(), 3 * without_place, NAN);
    const Graph graph{"cloud", kPoints, 3, GridNeighborsOnDevice(CellGrid(), cloud, 3)};
    for (const std::int32_t j : graph.neighbors) ASSERT_TRUE(j >= 0 && j < kPoints) << j;
    ExpectEqual(OnDevice(graph), EnumerateWalks(graph));
  }
}

TEST(WalkListsDeviceTest, TwoRunsGiveEqualBytes) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Graph graph = RandomGraph(1500, 3, kSeed);
  ExpectEqual(OnDevice(graph), OnDevice(graph));
}

TEST(WalkListsDeviceTest, NoNodesHaveOneOffset) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  ExpectEqual(OnDevice({"empty", 0, 3, {}}), Lists());
}

TEST(WalkListsDeviceTest, RefusesWhatAnEntryCannotHold) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  EXPECT_NE(LaunchWalkLists({nullptr, 4}, 10, nullptr, nullptr, nullptr, stream.get()), 0);
  EXPECT_NE(LaunchWalkLists({nullptr, 3}, (1 << 24) + 1, nullptr, nullptr, nullptr, stream.get()),
            0);
}

}  // namespace
}  // namespace interlacer::testing
