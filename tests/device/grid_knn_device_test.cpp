#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "knn/kernels/grid_knn_cuda.h"
#include "tests/device/device_array.h"
#include "tests/device/grid_knn_on_device.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {
namespace {

constexpr std::uint64_t kSeed = 33;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

std::int64_t PointCount(const Cloud& cloud) { return static_cast<std::int64_t>(cloud.size()) / 3; }

/// The bounding cube of the finite points, divided into `side` cells per axis.
CellGrid GridAround(const Cloud& cloud, int side) {
  float low = kInfinity, high = -kInfinity;
  for (const float x : cloud) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
  CellGrid grid;
  if (low > high) return grid;
  grid.edge_m = std::max(1e-3, (static_cast<double>(high) - low) / side);
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin_m[axis] = low;
    grid.cells[axis] = side;
  }
  return grid;
}

/// A number of cells per axis that gives about two points per cell.
int UsualSide(const Cloud& cloud) {
  return std::max(1, static_cast<int>(std::cbrt(static_cast<double>(PointCount(cloud)) / 2)));
}

std::vector<std::int32_t> OnDevice(const Cloud& cloud, int side, int out_degree) {
  return GridNeighborsOnDevice(GridAround(cloud, side), cloud, out_degree);
}

/// Neighbours by (squared distance, index) with the arithmetic of the kernels' contract; the point
/// itself where too few others have a finite distance.
std::vector<std::int32_t> BruteForce(const Cloud& cloud, int out_degree) {
  const float* p = cloud.data();
  std::vector<std::int32_t> neighbors;
  std::vector<std::pair<float, std::int32_t>> order;
  for (std::int32_t i = 0; i < PointCount(cloud); ++i) {
    order.assign(static_cast<std::size_t>(out_degree), {kInfinity, i});
    for (std::int32_t j = 0; j < PointCount(cloud); ++j) {
      const float dx = p[3 * j] - p[3 * i];
      const float dy = p[3 * j + 1] - p[3 * i + 1];
      const float dz = p[3 * j + 2] - p[3 * i + 2];
      const float sq_dist = std::fma(dz, dz, std::fma(dy, dy, dx * dx));
      if (j != i && !std::isnan(sq_dist)) order.emplace_back(sq_dist, j);
    }
    // The point itself, as a placeholder, comes last whatever its index.
    const auto last = [i](const auto& entry) { return entry.second == i; };
    std::partial_sort(
        order.begin(), order.begin() + out_degree, order.end(), [&](const auto& a, const auto& b) {
          return std::tuple(a.first, last(a), a.second) < std::tuple(b.first, last(b), b.second);
        });
    for (int r = 0; r < out_degree; ++r) neighbors.push_back(order[r].second);
  }
  return neighbors;
}

void ExpectBruteForce(const Cloud& cloud, int side) {
  for (const int out_degree : {1, 3, 4, 5, 16, kMaxCudaNeighbors}) {
    if (out_degree >= PointCount(cloud)) continue;
    SCOPED_TRACE(out_degree);
    EXPECT_EQ(OnDevice(cloud, side, out_degree), BruteForce(cloud, out_degree));
  }
}

TEST(GridKnnDeviceTest, EqualsBruteForce) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const NamedCloud clouds[] = {{"smallest", CubeCloud(4, kSeed)},
                               {"all of 33", CubeCloud(33, kSeed)},
                               {"cube", CubeCloud(1500, kSeed)},
                               {"far from the origin", CubeCloud(500, kSeed, 1e6)},
                               {"sheet", SheetCloud(700, kSeed)},
                               {"lattice", LatticeCloud(7)},
                               {"coincident", CoincidentCloud(300)},
                               {"doubled", DoubledCloud(300, kSeed)},
                               {"clustered", ClusteredCloud(400, kSeed)},
                               {"outliers", OutlierCloud(400, kSeed)}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    ExpectBruteForce(cloud.positions_m, UsualSide(cloud.positions_m));
  }
}

/// Warps search for neighbours more than two rings of small cells away; beyond eight rings blocks
/// compare the point with all others.
TEST(GridKnnDeviceTest, SearchesThatGiveUpOnRingsEqualBruteForce) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  const NamedCloud clouds[] = {{"lattice, every point", LatticeCloud(7)},
                               {"clustered, some points", ClusteredCloud(300, kSeed)},
                               {"outliers, a few points", OutlierCloud(300, kSeed)}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    ExpectBruteForce(cloud.positions_m, 28);
  }
}

/// A block compares a far point with 2048 others at a time.
TEST(GridKnnDeviceTest, FarPointsAmongMoreThanABlockReadsAtOnceEqualBruteForce) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  for (const int n : {2047, 2048, 2049, 5000}) {
    SCOPED_TRACE(n);
    const Cloud cloud = OutlierCloud(n, kSeed);
    for (const int out_degree : {3, 5}) {
      EXPECT_EQ(OnDevice(cloud, 28, out_degree), BruteForce(cloud, out_degree));
    }
  }
}

/// Lone points three to eight cells from a cell of a hundred points, which is one row of a warp's
/// search; the cells are a metre wide.
TEST(GridKnnDeviceTest, RowsLongerThanAWarpEqualBruteForce) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud cloud = CubeCloud(100, kSeed);
  for (float& coordinate_m : cloud) coordinate_m = 10.3F + 0.2F * coordinate_m;
  for (const float far_m : {3.F, 4.F, 5.F, 6.F, 7.F, 8.F}) {
    const float low_m = 10.5F - far_m, high_m = 10.5F + far_m;
    cloud.insert(cloud.end(), {high_m, 10.5F, 10.5F, 10.5F, low_m, 10.5F, 10.5F, 10.5F, high_m});
  }
  cloud.insert(cloud.end(), {0, 0, 0, 28, 28, 28});
  ExpectBruteForce(cloud, 28);
}

TEST(GridKnnDeviceTest, APointWithoutAPlaceIsItsOwnNeighbor) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  Cloud some = CubeCloud(150, kSeed);
  some[0] = some[1] = some[2] = kNan;
  some[3 * 57 + 1] = -kNan;
  some[3 * 90] = kInfinity;
  some[3 * 91 + 2] = -kInfinity;
  const NamedCloud clouds[] = {{"some", some}, {"all", Cloud(3 * 40, kNan)}};
  for (const NamedCloud& cloud : clouds) {
    SCOPED_TRACE(cloud.name);
    for (const int side : {4, 28}) ExpectBruteForce(cloud.positions_m, side);
  }
}

/// Members are rows 20 to 69 and 150 to 179 of a cloud; others neither count nor change.
TEST(GridKnnDeviceTest, MembersSeeMembersAlone) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  constexpr PointRanges kMembers{20, 50, 150, 30};
  constexpr int kDegree = 3;
  const Cloud cloud = SheetCloud(200, kSeed);
  Cloud chosen;
  for (std::int64_t i = 0; i < kMembers.size(); ++i) {
    for (int c = 0; c < 3; ++c) chosen.push_back(cloud[3 * kMembers.at(i) + c]);
  }
  std::vector<std::int32_t> expected(200 * kDegree, -1);
  const std::vector<std::int32_t> among = BruteForce(chosen, kDegree);
  for (std::int64_t i = 0; i < kMembers.size(); ++i) {
    for (int e = 0; e < kDegree; ++e) {
      expected[kMembers.at(i) * kDegree + e] =
          static_cast<std::int32_t>(kMembers.at(among[i * kDegree + e]));
    }
  }
  const CellGrid grid = GridAround(cloud, UsualSide(cloud));
  const CheckedStream stream;
  const DeviceArray<float> positions_m(stream, cloud);
  const DeviceArray<std::int32_t> neighbors(stream, std::vector<std::int32_t>(200 * kDegree, -1));
  const DeviceArray<char> workspace(
      stream, static_cast<std::int64_t>(GridKnnWorkspaceBytes(grid, kMembers.size())));
  EXPECT_EQ(LaunchGridKnn(grid, positions_m.get(), kMembers, kDegree, workspace.get(),
                          neighbors.get(), stream.get()),
            0);
  EXPECT_EQ(neighbors.Read(), expected);
}

TEST(GridKnnDeviceTest, NoPointsIsNoWork) {
  INTERLACER_SKIP_WITHOUT_DEVICE();
  EXPECT_TRUE(GridNeighborsOnDevice(CellGrid(), {}, 3).empty());
  // Of a cloud without members nothing is written.
  const Cloud cloud = LatticeCloud(2);
  const CheckedStream stream;
  const DeviceArray<float> positions_m(stream, cloud);
  const std::vector<std::int32_t> before(static_cast<std::size_t>(3 * PointCount(cloud)), -1);
  const DeviceArray<std::int32_t> neighbors(stream, before);
  EXPECT_EQ(LaunchGridKnn(GridAround(cloud, 2), positions_m.get(), {}, 3, nullptr, neighbors.get(),
                          stream.get()),
            0);
  EXPECT_EQ(neighbors.Read(), before);
}

TEST(GridKnnDeviceTest, CountsDevicesWithoutADriver) { EXPECT_GE(CudaDeviceCount(), 0); }

}  // namespace
}  // namespace interlacer::testing
