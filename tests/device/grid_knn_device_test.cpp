#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "knn/kernels/grid_knn_cuda.h"

namespace interlacer {
namespace {

constexpr int kNeighbors = 3;

struct Cloud {
  std::string name;
  std::vector<float> positions_m;
  std::int64_t n() const { return static_cast<std::int64_t>(positions_m.size()) / 3; }
};

Cloud RandomCloud(const std::string& name, std::int64_t n, float offset_m, unsigned seed) {
  Cloud cloud{name, {}};
  std::mt19937 generator(seed);
  std::uniform_real_distribution<float> coordinate(offset_m, offset_m + 1.0F);
  for (std::int64_t i = 0; i < 3 * n; ++i) cloud.positions_m.push_back(coordinate(generator));
  return cloud;
}

Cloud Lattice(int side) {
  Cloud cloud{"lattice, ties everywhere", {}};
  for (int z = 0; z < side; ++z) {
    for (int y = 0; y < side; ++y) {
      for (int x = 0; x < side; ++x) {
        for (const int c : {x, y, z}) cloud.positions_m.push_back(static_cast<float>(c));
      }
    }
  }
  return cloud;
}

std::vector<Cloud> Clouds() {
  const unsigned seed = std::random_device{}();
  ::testing::Test::RecordProperty("seed", std::to_string(seed));
  return {RandomCloud("smallest", kNeighbors + 1, 0.0F, seed),
          RandomCloud("unit box, seed " + std::to_string(seed), 3000, 0.0F, seed),
          RandomCloud("far from the origin", 1000, 1.0e6F, seed + 1),
          Lattice(11),
          {"coincident", std::vector<float>(3 * 500, 0.25F)}};
}

/// The cube around the cloud cut into about two points a cell.
CellGrid GridAround(const Cloud& cloud) {
  float low = cloud.positions_m[0];
  float high = low;
  for (const float x : cloud.positions_m) {
    low = std::min(low, x);
    high = std::max(high, x);
  }
  const int side = std::max(1, static_cast<int>(std::cbrt(static_cast<double>(cloud.n()) / 2)));
  CellGrid grid;
  grid.edge_m = std::max(1e-3, (static_cast<double>(high) - low) / side);
  for (int axis = 0; axis < 3; ++axis) {
    grid.origin_m[axis] = low;
    grid.cells[axis] = side;
  }
  return grid;
}

/// Neighbours by (squared distance, index) with the arithmetic of the kernels' contract.
std::vector<std::int32_t> BruteForce(const Cloud& cloud) {
  const float* p = cloud.positions_m.data();
  std::vector<std::int32_t> neighbors;
  std::vector<std::pair<float, std::int32_t>> order;
  for (std::int64_t i = 0; i < cloud.n(); ++i) {
    order.clear();
    for (std::int64_t j = 0; j < cloud.n(); ++j) {
      if (j == i) continue;
      const float dx = p[3 * j] - p[3 * i];
      const float dy = p[3 * j + 1] - p[3 * i + 1];
      const float dz = p[3 * j + 2] - p[3 * i + 2];
      order.emplace_back(std::fma(dz, dz, std::fma(dy, dy, dx * dx)), static_cast<std::int32_t>(j));
    }
    std::partial_sort(order.begin(), order.begin() + kNeighbors, order.end());
    for (int k = 0; k < kNeighbors; ++k) neighbors.push_back(order[k].second);
  }
  return neighbors;
}

TEST(GridKnnDeviceTest, EqualsBruteForce) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no CUDA device";
  for (const Cloud& cloud : Clouds()) {
    SCOPED_TRACE(cloud.name);
    std::vector<std::int32_t> neighbors(static_cast<std::size_t>(cloud.n() * kNeighbors), -7);
    const int error = GridKnnFromHost(GridAround(cloud), cloud.positions_m.data(), cloud.n(),
                                      kNeighbors, neighbors.data());
    ASSERT_EQ(error, 0) << CudaErrorText(error);
    EXPECT_EQ(neighbors, BruteForce(cloud));
  }
}

TEST(GridKnnDeviceTest, NoPointsIsNoWork) {
  if (CudaDeviceCount() == 0) GTEST_SKIP() << "no CUDA device";
  EXPECT_EQ(GridKnnFromHost(CellGrid(), nullptr, 0, kNeighbors, nullptr), 0);
}

TEST(GridKnnDeviceTest, CountsDevicesWithoutADriver) { EXPECT_GE(CudaDeviceCount(), 0); }

}  // namespace
}  // namespace interlacer
