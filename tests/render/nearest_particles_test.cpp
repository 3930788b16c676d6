#include "render/nearest_particles.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/random.h"

namespace interlacer {
namespace {

std::vector<float> RandomPoints(int count, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  std::vector<float> points_m;
  for (int i = 0; i < 3 * count; ++i) points_m.push_back(static_cast<float>(random.Uniform(-1, 1)));
  return points_m;
}

/// All distances, sorted.
NearestParticles SlowNearest(const std::vector<float>& particles_m,
                             const std::vector<float>& points_m, int k) {
  NearestParticles found;
  for (std::size_t p = 0; p < points_m.size(); p += 3) {
    std::vector<std::pair<float, std::int32_t>> all;
    for (std::size_t i = 0; i < particles_m.size(); i += 3) {
      const float dx = particles_m[i] - points_m[p], dy = particles_m[i + 1] - points_m[p + 1],
                  dz = particles_m[i + 2] - points_m[p + 2];
      all.emplace_back(dx * dx + dy * dy + dz * dz, static_cast<std::int32_t>(i / 3));
    }
    std::sort(all.begin(), all.end());
    all.resize(static_cast<std::size_t>(k), {std::numeric_limits<float>::infinity(), kNoParticle});
    for (const auto& [sq_dist_m2, index] : all) {
      found.indices.push_back(index);
      found.sq_dist_m2.push_back(sq_dist_m2);
    }
  }
  return found;
}

TEST(NearestParticles, AreThoseOfASearchThroughAll) {
  for (const int count : {1, 2, 3, 16, 17, 5000}) {
    const std::vector<float> particles_m = RandomPoints(count, 1), points_m = RandomPoints(1500, 2);
    const NearestParticles got = FindNearestParticles(particles_m, points_m, 3);
    const NearestParticles expected = SlowNearest(particles_m, points_m, 3);
    EXPECT_EQ(got.indices, expected.indices) << count;
    for (std::size_t i = 0; i < got.sq_dist_m2.size(); ++i) {
      if (got.indices[i] == kNoParticle) continue;
      ASSERT_FLOAT_EQ(got.sq_dist_m2[i], expected.sq_dist_m2[i]);
    }
  }
}

TEST(NearestParticles, DuplicatesComeInTheirOrder) {
  const std::vector<float> particles_m(3 * 40, 0.5f);
  const NearestParticles found = FindNearestParticles(particles_m, RandomPoints(3, 4), 3);
  EXPECT_EQ(found.indices, (std::vector<std::int32_t>{0, 1, 2, 0, 1, 2, 0, 1, 2}));
}

TEST(NearestParticles, WithoutParticlesOrPointsThereAreNone) {
  EXPECT_EQ(FindNearestParticles({}, RandomPoints(2, 5), 3).indices,
            std::vector<std::int32_t>(6, kNoParticle));
  EXPECT_TRUE(FindNearestParticles(RandomPoints(2, 5), {}, 3).indices.empty());
}

}  // namespace
}  // namespace interlacer
