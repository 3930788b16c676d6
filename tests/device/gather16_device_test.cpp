#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "render/kernels/field_cuda.h"
#include "tests/device/box_tree.h"
#include "tests/device/cloud_on_device.h"
#include "tests/device/device_array.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 37;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

struct Neighbors {
  std::vector<std::uint32_t> index;  // kNoSlot for missing neighbours
  std::vector<float> sq_dist_m2;
};

Neighbors BruteForce(const Cloud& cloud, const std::vector<float>& points, int k) {
  Neighbors result;
  std::vector<std::pair<float, std::uint32_t>> order;
  for (std::size_t p = 0; p < points.size(); p += 3) {
    order.clear();
    for (std::uint32_t i = 0; 3 * i < cloud.size(); ++i) {
      const float dx = cloud[3 * i] - points[p], dy = cloud[3 * i + 1] - points[p + 1],
                  dz = cloud[3 * i + 2] - points[p + 2];
      order.emplace_back(dx * dx + dy * dy + dz * dz, i);
    }
    std::sort(order.begin(), order.end());
    for (int r = 0; r < kGatherWidth; ++r) {
      const bool found = r < k && r < static_cast<int>(order.size());
      result.index.push_back(found ? order[r].second : kNoSlot);
      result.sq_dist_m2.push_back(found ? order[r].first : kInfinity);
    }
  }
  return result;
}

/// Searches on the device; slots of the tree are converted back to particles.
Neighbors OnDevice(const BoxTree& tree, const std::vector<float>& points, int k) {
  const CheckedStream stream;
  const std::int64_t m = static_cast<std::int64_t>(points.size()) / 3;
  const DeviceArray<float> leaf_xyz(stream, tree.leaf_xyz), points_device(stream, points);
  const DeviceArray<std::uint32_t> original_index(stream, tree.original_index);
  const DeviceArray<std::uint32_t> slot_of_index(stream, tree.slot_of_index);
  std::vector<DeviceArray<float>> boxes;
  ParticleTreeView view;
  view.particle_count = tree.n;
  view.leaf_xyz = leaf_xyz.get();
  view.original_index = original_index.get();
  view.slot_of_index = slot_of_index.get();
  for (const std::vector<float>& level : tree.level_boxes) {
    boxes.emplace_back(stream, level);
    view.level_boxes[view.level_count++] = boxes.back().get();
  }
  const DeviceArray<std::uint32_t> slots(stream, kGatherWidth * m);
  const DeviceArray<float> sq_dist_m2(stream, kGatherWidth * m);
  EXPECT_EQ(LaunchGatherNearest(view, k, points_device.get(), m, slots.get(), sq_dist_m2.get(),
                                stream.get()),
            0);
  Neighbors result{slots.Read(), sq_dist_m2.Read()};
  for (std::uint32_t& slot : result.index) {
    if (slot != kNoSlot) slot = tree.original_index[slot];
  }
  return result;
}

std::vector<std::uint32_t> InOrder(const Cloud& cloud) {
  std::vector<std::uint32_t> order(cloud.size() / 3);
  std::iota(order.begin(), order.end(), 0u);
  return order;
}

/// Particles sorted along x, so that most leaves are never visited.
std::vector<std::uint32_t> AlongX(const Cloud& cloud) {
  std::vector<std::uint32_t> order = InOrder(cloud);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(cloud[3 * a], a) < std::pair(cloud[3 * b], b);
  });
  return order;
}

TEST(GatherNearestDeviceTest, EqualsBruteForceToTheBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<NamedCloud> clouds = {{"cube", CubeCloud(700, kSeed)},
                                    {"sheet", SheetCloud(5000, kSeed)},
                                    {"lattice", LatticeCloud(7)},
                                    {"coincident", CoincidentCloud(300)},
                                    {"clustered", ClusteredCloud(500, kSeed)},
                                    {"outliers", OutlierCloud(400, kSeed)},
                                    {"few", CubeCloud(5, kSeed)},
                                    {"one", CubeCloud(1, kSeed)},
                                    {"none", {}}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    std::vector<float> points = CubeCloud(37, kSeed + 1);
    points.insert(points.end(), cloud.positions_m.begin(),
                  cloud.positions_m.begin() + std::min<std::size_t>(30, cloud.positions_m.size()));
    for (const int k : {16, 5, 1}) {
      const Neighbors expected = BruteForce(cloud.positions_m, points, k);
      for (const auto& order : {InOrder(cloud.positions_m), AlongX(cloud.positions_m)}) {
        const Neighbors got = OnDevice(BoxTree(cloud.positions_m, order), points, k);
        EXPECT_EQ(got.index, expected.index);
        EXPECT_EQ(got.sq_dist_m2, expected.sq_dist_m2);
      }
    }
  }
}

TEST(GatherNearestDeviceTest, SearchesTheTreeThatTheDeviceBuilt) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<NamedCloud> clouds = {
      {"sheet", SheetCloud(3000, kSeed)},     {"lattice", LatticeCloud(7)},
      {"doubled", DoubledCloud(300, kSeed)},  {"coincident", CoincidentCloud(300)},
      {"outliers", OutlierCloud(400, kSeed)}, {"few", CubeCloud(5, kSeed)},
      {"one", CubeCloud(1, kSeed)},           {"none", {}}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    std::vector<float> points = CubeCloud(23, kSeed + 1);
    points.insert(points.end(), cloud.positions_m.begin(),
                  cloud.positions_m.begin() + std::min<std::size_t>(30, cloud.positions_m.size()));
    const std::int64_t m = static_cast<std::int64_t>(points.size()) / 3;
    const CloudOnDevice device(cloud.positions_m, std::vector<float>(cloud.positions_m.size() / 3),
                               0.1F);
    const DeviceArray<float> points_device(device.stream, points);
    const DeviceArray<std::uint32_t> slots(device.stream, kGatherWidth * m);
    const DeviceArray<float> sq_dist_m2(device.stream, kGatherWidth * m);
    ASSERT_EQ(LaunchGatherNearest(device.index.tree, 16, points_device.get(), m, slots.get(),
                                  sq_dist_m2.get(), device.stream.get()),
              0);
    const auto original_index = device.Read(device.index.original_index, device.n);
    std::vector<std::uint32_t> indices = slots.Read();
    for (std::uint32_t& slot : indices) slot = slot == kNoSlot ? slot : original_index[slot];
    const Neighbors expected = BruteForce(cloud.positions_m, points, 16);
    EXPECT_EQ(indices, expected.index);
    EXPECT_EQ(sq_dist_m2.Read(), expected.sq_dist_m2);
  }
}

/// Points in rows like samples of rays: a search starts with the result of the previous one.
TEST(GatherNearestDeviceTest, PointsInRowsEqualBruteForceToTheBit) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  std::vector<float> points;
  for (int i = 0; i < 1100; ++i) {
    AddPoint(points, 0.1 * (i / 50), 0.25 * (i / 50 % 5), -0.5 + 0.04 * (i % 50));
  }
  for (const NamedCloud& cloud : {NamedCloud{"sheet", SheetCloud(900, kSeed)},
                                  {"lattice", LatticeCloud(5)},
                                  {"doubled", DoubledCloud(100, kSeed)},
                                  {"outliers", OutlierCloud(200, kSeed)},
                                  {"just enough", CubeCloud(16, kSeed)},
                                  {"too few", CubeCloud(15, kSeed)}}) {
    SCOPED_TRACE(cloud.name);
    for (const int k : {16, 3}) {
      const Neighbors expected = BruteForce(cloud.positions_m, points, k);
      const Neighbors got =
          OnDevice(BoxTree(cloud.positions_m, AlongX(cloud.positions_m)), points, k);
      EXPECT_EQ(got.index, expected.index);
      EXPECT_EQ(got.sq_dist_m2, expected.sq_dist_m2);
    }
  }
}

TEST(GatherNearestDeviceTest, VisitsTheSamplesOfAPassOnly) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const Cloud cloud = CubeCloud(40, kSeed);
  const std::vector<float> points = CubeCloud(30, kSeed + 1);
  const CloudOnDevice device(cloud, std::vector<float>(40), 0.1F);
  const DeviceArray<float> points_device(device.stream, points);
  const DeviceArray<std::int32_t> total(device.stream, std::vector<std::int32_t>{112});
  for (const auto& [begin, expected] : {std::pair(100, 12), {0, 30}, {112, 0}, {500, 0}}) {
    const DeviceArray<float> sq_dist_m2(device.stream, kGatherWidth * 30);
    const DeviceArray<std::uint32_t> slots(device.stream, kGatherWidth * 30);
    sq_dist_m2.Poison();
    ASSERT_EQ(LaunchGatherNearest(device.index.tree, 16, points_device.get(), 30, slots.get(),
                                  sq_dist_m2.get(), device.stream.get(), {total.get(), begin}),
              0);
    int written = 0;
    for (const float x : sq_dist_m2.Read()) written += std::isnan(x) ? 0 : 1;
    EXPECT_EQ(written, kGatherWidth * expected);
  }
}

TEST(GatherNearestDeviceTest, NoPointsIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(OnDevice(BoxTree({}, {}), {}, 16).index.empty());
}

}  // namespace
}  // namespace interlacer::testing
