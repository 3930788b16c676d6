#include "render/kernels/gather16.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "render/cpu_kernels.h"
#include "render/occupancy_grid.h"
#include "render/particle_tree.h"
#include "tests/render/render_scene.h"

namespace interlacer {
namespace {

struct Neighbors {
  std::vector<std::uint32_t> index;
  std::vector<float> sq_dist_m2;
  bool operator==(const Neighbors&) const = default;
};

Neighbors BruteForce(const std::vector<float>& x, const float* p, int k) {
  const std::size_t n = x.size() / 3;
  std::vector<float> sq_dist(n);
  for (std::size_t i = 0; i < n; ++i) {
    const float dx = x[3 * i] - p[0], dy = x[3 * i + 1] - p[1], dz = x[3 * i + 2] - p[2];
    sq_dist[i] = dx * dx + dy * dy + dz * dz;
  }
  std::vector<std::uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  std::sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return sq_dist[a] != sq_dist[b] ? sq_dist[a] < sq_dist[b] : a < b;
  });
  Neighbors result;
  for (int i = 0; i < 16; ++i) {
    const bool found = i < k && i < static_cast<int>(n);
    result.index.push_back(found ? order[i] : kNoSlot);
    result.sq_dist_m2.push_back(found ? sq_dist[order[i]] : std::numeric_limits<float>::infinity());
  }
  return result;
}

void ExpectExact(const RenderKernels& kernels, const std::vector<float>& positions,
                 const std::vector<float>& points, int k) {
  const std::size_t m = points.size() / 3;
  const std::vector<float> features(positions.size() / 3, 0.f);
  const ParticleTree tree(positions, features, 1);
  std::vector<std::uint32_t> slots(16 * m, 12345u), hints(16 * 3, kNoSlot);
  std::vector<float> sq_dist(16 * m, -1.f);
  // Points take turns on three rows, so that hints come from far away too.
  std::vector<std::int32_t> rows(m);
  for (std::size_t p = 0; p < m; ++p) rows[p] = static_cast<std::int32_t>(p * p % 3);
  kernels.gather_nearest(tree.view(), k, points.data(), rows.data(), m, hints.data(), slots.data(),
                         sq_dist.data());
  for (std::size_t p = 0; p < m; ++p) {
    Neighbors got;
    for (int i = 0; i < 16; ++i) {
      const std::uint32_t slot = slots[16 * p + i];
      got.index.push_back(slot == kNoSlot ? kNoSlot : tree.original_index()[slot]);
      got.sq_dist_m2.push_back(sq_dist[16 * p + i]);
    }
    const Neighbors expected = BruteForce(positions, points.data() + 3 * p, k);
    ASSERT_EQ(got.index, expected.index) << "point " << p << ", n " << positions.size() / 3;
    ASSERT_EQ(got.sq_dist_m2, expected.sq_dist_m2) << "point " << p;
  }
}

class Gather16Test : public ::testing::TestWithParam<const RenderKernels* (*)()> {
 protected:
  void SetUp() override {
    kernels_ = GetParam()();
    if (kernels_ == nullptr) GTEST_SKIP() << "this machine lacks the instructions";
  }
  std::vector<float> Uniform(std::size_t count, double low, double high) {
    std::vector<float> values(3 * count);
    for (float& value : values) value = static_cast<float>(random_.Uniform(low, high));
    return values;
  }

  const RenderKernels* kernels_ = nullptr;
  RandomSequence random_{61, RandomStream::kDataGeneration};
};

INSTANTIATE_TEST_SUITE_P(
    Kernels, Gather16Test,
    ::testing::Values([]() -> const RenderKernels* { return &PortableRenderKernels(); },
                      Avx2RenderKernels, Avx512RenderKernels));

TEST_P(Gather16Test, EqualsBruteForceForManySizes) {
  for (const int n : {0, 1, 3, 15, 16, 17, 255, 256, 257, 4096, 4097, 9000}) {
    ExpectExact(*kernels_, Uniform(n, -0.5, 0.5), Uniform(60, -1.0, 1.0), 16);
  }
}

TEST_P(Gather16Test, EqualsBruteForceForFewerNeighbors) {
  for (const int k : {1, 3, 8, 15}) {
    ExpectExact(*kernels_, Uniform(500, -0.5, 0.5), Uniform(60, -0.6, 0.6), k);
  }
}

TEST_P(Gather16Test, TiesGoToTheSmallerIndex) {
  std::vector<float> lattice;
  for (int i = 0; i < 1000; ++i) {
    for (const int c : {i % 10, i / 10 % 10, i / 100}) lattice.push_back(0.125f * c);
  }
  std::vector<float> points = Uniform(40, 0.0, 1.2);
  for (float& value : points) value = std::round(value * 16) / 16;
  ExpectExact(*kernels_, lattice, points, 16);
}

TEST_P(Gather16Test, CoincidentParticlesAndFarOffsets) {
  std::vector<float> cloud = Uniform(100, 0.0, 1.0);
  for (int i = 0; i < 100; ++i) cloud.insert(cloud.end(), cloud.begin() + 3, cloud.begin() + 6);
  ExpectExact(*kernels_, cloud, Uniform(30, 0.0, 1.0), 16);
  for (float& value : cloud) value += 1e6f;
  ExpectExact(*kernels_, cloud, Uniform(30, 1e6, 1e6 + 1), 16);
}

TEST(OccupancyGridTest, NeverHidesANearParticle) {
  RandomSequence random(62, RandomStream::kDataGeneration);
  for (const double side : {0.01, 1.0, 300.0}) {
    std::vector<float> cloud(300), point(3);
    for (float& value : cloud) value = static_cast<float>(random.Uniform(-side, side));
    const float radius = 0.175f;
    const OccupancyGrid grid(cloud, radius);
    int near_count = 0;
    for (int i = 0; i < 20000; ++i) {
      // Around the sphere of the radius about some particle, where rounding decides.
      const std::size_t center = 3 * random.Below(100);
      double d[3] = {random.Normal(), random.Normal(), random.Normal()};
      const double length = std::sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]);
      for (int axis = 0; axis < 3; ++axis) {
        point[axis] = static_cast<float>(cloud[center + axis] + radius * d[axis] / length);
      }
      if (BruteForce(cloud, point.data(), 1).sq_dist_m2[0] <= radius * radius) {
        ++near_count;
        EXPECT_TRUE(grid.MayBeNear(point.data()));
      }
    }
    EXPECT_GT(near_count, 1000);
  }
}

TEST(OccupancyGridTest, ClearsMostOfEmptySpace) {
  const std::vector<float> cloud{0.f, 0.f, 0.f, 2.f, 2.f, 2.f};
  const OccupancyGrid grid(cloud, 0.175f);
  const float far[3] = {1.f, 1.f, 1.f}, outside[3] = {50.f, 0.f, 0.f},
              beyond[3] = {0.26f, 0.f, 0.f}, inside[3] = {0.1f, 0.1f, 0.f};
  EXPECT_FALSE(grid.MayBeNear(far));
  EXPECT_FALSE(grid.MayBeNear(outside));
  EXPECT_FALSE(grid.MayBeNear(beyond));
  EXPECT_TRUE(grid.MayBeNear(inside));
  EXPECT_FALSE(OccupancyGrid({}, 0.175f).MayBeNear(inside));
}

}  // namespace
}  // namespace interlacer
