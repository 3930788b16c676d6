#include "knn/spatial_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/support/clouds.h"

namespace interlacer {
namespace {

constexpr std::uint64_t kSpatialOrderSeed = 20263;

TEST(MortonOrder, IsAPermutationWithItsInverse) {
  for (const testing::NamedCloud& cloud : testing::AwkwardClouds(700, kSpatialOrderSeed)) {
    const std::vector<std::int32_t> order = *MortonOrder(cloud.positions_m, 0.05);
    std::vector<std::int32_t> sorted = order;
    std::sort(sorted.begin(), sorted.end());
    std::vector<std::int32_t> all(order.size());
    std::iota(all.begin(), all.end(), 0);
    EXPECT_EQ(sorted, all) << cloud.name;
    const std::vector<std::int32_t> place_of = InverseOrder(order);
    for (std::size_t place = 0; place < order.size(); ++place) {
      ASSERT_EQ(place_of[order[place]], static_cast<std::int32_t>(place));
    }
  }
}

/// Cell numbers with their bits in turn, x lowest: the slow, obvious twin.
std::uint64_t InterleavedCells(const float* point_m, const double* low_m, double cell_edge_m) {
  std::uint64_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    const double cell = std::min((point_m[axis] - low_m[axis]) / cell_edge_m, 1023.0);
    for (int bit = 0; bit < 10; ++bit) {
      code |= ((static_cast<std::uint64_t>(cell) >> bit) & 1) << (3 * bit + axis);
    }
  }
  return code;
}

TEST(MortonOrder, SortsByInterleavedCellsThenIndex) {
  for (const testing::NamedCloud& cloud : testing::AwkwardClouds(900, kSpatialOrderSeed)) {
    const std::vector<float>& p = cloud.positions_m;
    double low_m[3] = {p[0], p[1], p[2]}, longest_m = 0;
    for (std::size_t c = 0; c < p.size(); ++c) low_m[c % 3] = std::min<double>(low_m[c % 3], p[c]);
    for (std::size_t c = 0; c < p.size(); ++c) {
      longest_m = std::max(longest_m, p[c] - low_m[c % 3]);
    }
    for (const double asked_m : {1e-6, 0.01, 10.0}) {  // 30 bits, some bits, hardly any
      const double edge_m = std::max(asked_m, longest_m / 1024);
      std::vector<std::int32_t> expected(p.size() / 3);
      std::iota(expected.begin(), expected.end(), 0);
      std::stable_sort(expected.begin(), expected.end(), [&](std::int32_t a, std::int32_t b) {
        return InterleavedCells(&p[3 * a], low_m, edge_m) <
               InterleavedCells(&p[3 * b], low_m, edge_m);
      });
      EXPECT_EQ(*MortonOrder(p, asked_m), expected) << cloud.name << ", " << asked_m << " m";
    }
  }
}

TEST(MortonOrder, VisitsTheEightCellsOfACubeInZOrder) {
  std::vector<float> corners;
  for (int code = 7; code >= 0; --code) {  // backwards: index 0 is the farthest corner
    testing::AddPoint(corners, code & 1, (code >> 1) & 1, (code >> 2) & 1);
  }
  EXPECT_EQ(*MortonOrder(corners, 1.0), (std::vector<std::int32_t>{7, 6, 5, 4, 3, 2, 1, 0}));
}

TEST(MortonOrder, PointsOfOneCellKeepTheirOrder) {
  const std::vector<std::int32_t> order = *MortonOrder(testing::CoincidentCloud(9), 0.01);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(MortonOrder, BringsNeighboursTogether) {
  const std::vector<float> cloud = testing::CubeCloud(4000, kSpatialOrderSeed);
  const std::vector<std::int32_t> order = *MortonOrder(cloud, 0.05);
  const auto mean_step_m = [&](const auto& point_at) {
    double sum = 0;
    for (int s = 1; s < 4000; ++s) {
      const float* a = &cloud[3 * point_at(s - 1)];
      const float* b = &cloud[3 * point_at(s)];
      sum += std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
    }
    return sum / 3999;
  };
  EXPECT_LT(mean_step_m([&](int s) { return order[s]; }),
            0.2 * mean_step_m([](int s) { return s; }));
}

TEST(MortonOrder, RefusesBadInput) {
  EXPECT_EQ(MortonOrder(std::vector<float>{1, 2, 3}, 0).status().reason(),
            reason::ARGUMENT_INVALID);
  EXPECT_EQ(MortonOrder(std::vector<float>{1, NAN, 3}, 1).status().reason(), reason::NOT_FINITE);
}

}  // namespace
}  // namespace interlacer
