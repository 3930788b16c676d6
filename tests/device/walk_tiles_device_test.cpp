#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "knn/kernels/walk_tiles_cuda.h"
#include "tests/device/device_array.h"
#include "tests/device/walk_graphs.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 20268;

struct Tiles {
  std::vector<std::int32_t> row_counts;
  std::vector<std::vector<std::int32_t>> rows;  // of each tile
  std::vector<std::uint16_t> places;
};

Tiles OnDevice(const WalkTestLists& lists) {
  const CheckedStream stream;
  const std::int64_t n = static_cast<std::int64_t>(lists.offsets.size()) - 1;
  const DeviceArray<std::int32_t> offsets(stream, lists.offsets);
  const DeviceArray<std::uint32_t> entries(stream, lists.entries);
  const DeviceArray<std::int32_t> row_counts(stream, WalkTileCount(n));
  const DeviceArray<std::int32_t> rows(stream, n * kMaxWalkRowSize);
  const DeviceArray<std::uint16_t> places(stream, n * kMaxWalkRowSize);
  rows.Poison();  // a tile uses only the first of its entries
  EXPECT_EQ(LaunchWalkTiles(n, offsets.get(), entries.get(),
                            {row_counts.get(), rows.get(), places.get()}, stream.get()),
            0);
  Tiles tiles{row_counts.Read(), {}, places.Read(lists.offsets.back())};
  const std::vector<std::int32_t> all = rows.Read();
  for (std::int64_t tile = 0; tile < WalkTileCount(n); ++tile) {
    const auto begin = all.begin() + lists.offsets[tile * kWalkTileRoots];
    tiles.rows.emplace_back(begin, begin + tiles.row_counts[tile]);
  }
  return tiles;
}

/// Rows of each tile in the order of their first entry.
Tiles OnHost(const WalkTestLists& lists) {
  const std::int64_t n = static_cast<std::int64_t>(lists.offsets.size()) - 1;
  Tiles tiles;
  for (std::int64_t first = 0; first < n; first += kWalkTileRoots) {
    std::map<std::int32_t, std::uint16_t> place_of;
    std::vector<std::int32_t> rows;
    const std::int64_t last = std::min(first + kWalkTileRoots, n);
    for (std::int32_t e = lists.offsets[first]; e < lists.offsets[last]; ++e) {
      const auto node = static_cast<std::int32_t>(lists.entries[e] & 0xFFFFFFu);
      const auto [found, is_new] = place_of.emplace(node, static_cast<std::uint16_t>(rows.size()));
      if (is_new) rows.push_back(node);
      tiles.places.push_back(found->second);
    }
    tiles.row_counts.push_back(static_cast<std::int32_t>(rows.size()));
    tiles.rows.push_back(rows);
  }
  return tiles;
}

void ExpectEqual(const Tiles& got, const Tiles& expected) {
  EXPECT_EQ(got.row_counts, expected.row_counts);
  EXPECT_EQ(got.rows, expected.rows);
  EXPECT_EQ(got.places, expected.places);
}

TEST(WalkTilesDeviceTest, EqualTheDistinctRowsOfEveryTile) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  // 128 roots are a tile; 70 roots in a ring share most rows; random roots among 5000 share almost
  // none.
  std::vector<WalkTestGraph> graphs{RingGraph(70), RingGraph(300), HubGraph(300)};
  for (const int n : {1, 2, 127, 128, 129, 256, 257, 5000}) {
    graphs.push_back(RandomGraph(n, 3, kSeed));
  }
  for (const WalkTestGraph& graph : graphs) {
    SCOPED_TRACE(graph.name);
    const WalkTestLists lists = EnumerateWalks(graph);
    ExpectEqual(OnDevice(lists), OnHost(lists));
  }
}

TEST(WalkTilesDeviceTest, FullRowsOfDifferentNodesFit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  // Every root lists 40 nodes that no other root lists.
  WalkTestLists lists;
  for (std::uint32_t root = 0; root < 200; ++root) {
    for (std::uint32_t e = 0; e < kMaxWalkRowSize; ++e) {
      lists.entries.push_back((e * 200 + root) | 1u << 24);
    }
    lists.offsets.push_back(static_cast<std::int32_t>(lists.entries.size()));
  }
  const Tiles tiles = OnDevice(lists);
  EXPECT_EQ(tiles.row_counts[0], kWalkTileRoots * kMaxWalkRowSize);
  ExpectEqual(tiles, OnHost(lists));
}

TEST(WalkTilesDeviceTest, RowsWithoutEntriesHaveNoRows) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  WalkTestLists lists;
  lists.offsets.assign(131, 0);
  EXPECT_EQ(OnDevice(lists).row_counts, (std::vector<std::int32_t>{0, 0}));
}

TEST(WalkTilesDeviceTest, TwoRunsGiveEqualBytes) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const WalkTestLists lists = EnumerateWalks(RandomGraph(1500, 3, kSeed));
  ExpectEqual(OnDevice(lists), OnDevice(lists));
}

TEST(WalkTilesDeviceTest, NoRootsAreNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const CheckedStream stream;
  EXPECT_EQ(LaunchWalkTiles(0, nullptr, nullptr, {}, stream.get()), 0);
  EXPECT_NE(LaunchWalkTiles(-1, nullptr, nullptr, {}, stream.get()), 0);
}

}  // namespace
}  // namespace interlacer::testing
