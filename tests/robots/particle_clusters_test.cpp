#include "robots/particle_clusters.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "robots/attachment.h"
#include "tests/support/clouds.h"
#include "tests/support/tolerances.h"

namespace interlacer {
namespace {

using testing::AddPoint;
using testing::Cloud;

constexpr double kTableM = 0.3;
constexpr std::size_t kThingParticles = 8;

std::vector<std::int32_t> Free(const Cloud& cloud) {
  return std::vector<std::int32_t>(cloud.size() / 3, kNotAttached);
}

void AddThing(Cloud& cloud, double x_m) {
  for (const double x : {-0.01, 0.01}) {
    for (const double y : {-0.01, 0.01}) {
      for (const double z : {0.02, 0.04}) AddPoint(cloud, x_m + x, y, kTableM + z);
    }
  }
}

void AddTable(Cloud& cloud) {
  for (int x = -10; x <= 10; ++x) {
    for (int y = -10; y <= 10; ++y) AddPoint(cloud, 0.03 * x, 0.03 * y, kTableM);
  }
}

TEST(ParticleClusters, ThingsOnATableAreApartAsFarAsPixelsAreNot) {
  Cloud apart;
  AddThing(apart, 0);
  AddThing(apart, 0.065);  // 45 mm from face to face
  AddTable(apart);
  const ParticleClusters two = ClusterParticles(apart, Free(apart));
  EXPECT_NEAR(two.support_m, kTableM, testing::kFloatPlaceToleranceM);
  ASSERT_EQ(two.members.size(), 2u);
  for (std::size_t k = 0; k < 2; ++k) {
    std::vector<std::size_t> all(kThingParticles);
    std::iota(all.begin(), all.end(), k * kThingParticles);
    EXPECT_EQ(two.members[k], all);
  }

  Cloud near;
  AddThing(near, 0);
  AddThing(near, 0.055);  // 35 mm
  AddTable(near);
  EXPECT_EQ(ClusterParticles(near, Free(near)).members.size(), 1u);
}

TEST(ParticleClusters, TheRobotTakesNoPart) {
  Cloud cloud;
  AddThing(cloud, 0);
  const std::size_t thing_end = cloud.size() / 3;
  AddTable(cloud);
  const std::size_t robot_begin = cloud.size() / 3;
  for (int i = 0; i < 1000; ++i) AddPoint(cloud, 0.02, 0.0005 * i, 0.5);  // more than the table's
  std::vector<std::int32_t> links = Free(cloud);
  std::fill(links.begin() + static_cast<std::ptrdiff_t>(robot_begin), links.end(), 3);
  const ParticleClusters clusters = ClusterParticles(cloud, links);
  EXPECT_NEAR(clusters.support_m, kTableM, testing::kFloatPlaceToleranceM);
  ASSERT_EQ(clusters.members.size(), 1u);
  EXPECT_EQ(clusters.members[0].size(), thing_end);
}

TEST(ParticleClusters, WhatIsFlatBelongsToTheSupport) {
  Cloud cloud;
  AddTable(cloud);
  AddPoint(cloud, 0, 0, kTableM + 0.007);
  AddPoint(cloud, 0.2, 0, kTableM + 0.009);
  const ParticleClusters clusters = ClusterParticles(cloud, Free(cloud));
  ASSERT_EQ(clusters.members.size(), 1u);
  EXPECT_EQ(clusters.members[0], std::vector<std::size_t>{cloud.size() / 3 - 1});
}

TEST(ParticleClusters, TheFeetOfThingsAreTheirsAndTheNoiseOfTheTableIsNot) {
  Cloud cloud;
  AddThing(cloud, 0);
  AddThing(cloud, 0.065);
  const double feet_m[][2] = {
      {0.027, .007}, {0.038, .007}, {-.015, .004}, {-.015, .002}, {-.04, .007}};
  for (const auto& [x_m, above_m] : feet_m) AddPoint(cloud, x_m, 0, kTableM + above_m);
  AddTable(cloud);
  const auto clusters_of = [&] { return ClusterParticles(cloud, Free(cloud)).members; };
  const std::vector<std::size_t> left = {0, 1, 2, 3, 4, 5, 6, 7},
                                 right = {8, 9, 10, 11, 12, 13, 14, 15};
  auto with = [](std::vector<std::size_t> all, std::vector<std::size_t> feet) {
    all.insert(all.end(), feet.begin(), feet.end());
    return all;
  };
  EXPECT_EQ(clusters_of(), (std::vector{with(left, {16, 18, 19}), with(right, {17})}));
  // The table's particles lie 0.75 mm from their mean: what is less than 3 mm above it is noise.
  for (std::size_t i = 21; i < cloud.size() / 3; ++i)
    cloud[3 * i + 2] += i % 2 == 0 ? .00075f : -.00075f;
  EXPECT_EQ(clusters_of(), (std::vector{with(left, {16, 18}), with(right, {17})}));
  // Then 2.5 mm.
  for (std::size_t i = 21; i < cloud.size() / 3; ++i)
    cloud[3 * i + 2] += i % 2 == 0 ? .00175f : -.00175f;
  EXPECT_EQ(clusters_of(), (std::vector{left, right}));
}

TEST(ParticleClusters, NoneOneAndCoincidentParticles) {
  EXPECT_TRUE(ClusterParticles({}, {}).members.empty());
  EXPECT_EQ(ClusterParticles({}, {}).support_m, 0);
  const Cloud one = testing::CoincidentCloud(1), many = testing::CoincidentCloud(100);
  EXPECT_TRUE(ClusterParticles(one, Free(one)).members.empty());  // it is its own support
  EXPECT_TRUE(ClusterParticles(many, Free(many)).members.empty());
  Cloud above;
  AddTable(above);
  for (int i = 0; i < 100; ++i) AddPoint(above, 0, 0, kTableM + 0.1);
  const ParticleClusters clusters = ClusterParticles(above, Free(above));
  ASSERT_EQ(clusters.members.size(), 1u);
  EXPECT_EQ(clusters.members[0].size(), 100u);
}

TEST(ParticleClusters, LowThingsSideBySideAreApartAndAHighOneIsWhole) {
  Cloud cloud;
  AddTable(cloud);
  for (const double x : {0.0, 0.01, 0.03, 0.04}) AddPoint(cloud, x, 0, kTableM + 0.015);
  EXPECT_EQ(ClusterParticles(cloud, Free(cloud)).members.size(), 2u);
  AddPoint(cloud, 0.02, 0, kTableM + 0.035);  // over both
  EXPECT_EQ(ClusterParticles(cloud, Free(cloud)).members.size(), 1u);
}

/// Single linkage by looking at every pair until nothing changes.
std::vector<std::vector<std::size_t>> SlowClusters(const Cloud& cloud, double support_m) {
  const std::size_t n = cloud.size() / 3;
  const auto is_above = [&](std::size_t i) { return double{cloud[3 * i + 2]} > support_m + 0.008; };
  std::vector<std::size_t> label(n);
  std::iota(label.begin(), label.end(), 0);
  for (bool has_changed = true; has_changed;) {
    has_changed = false;
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t k = 0; k < n; ++k) {
        if (!is_above(i) || !is_above(k) || label[i] <= label[k]) continue;
        double sq_m2 = 0;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          const double d = double{cloud[3 * i + axis]} - double{cloud[3 * k + axis]};
          sq_m2 += d * d;
        }
        const double higher_m = std::max(cloud[3 * i + 2], cloud[3 * k + 2]);
        if (std::sqrt(sq_m2) > (higher_m < support_m + 0.03 ? 0.012 : 0.04)) continue;
        label[i] = label[k];
        has_changed = true;
      }
    }
  }
  std::vector<std::vector<std::size_t>> clusters;
  for (std::size_t first = 0; first < n; ++first) {
    std::vector<std::size_t> members;
    for (std::size_t i = 0; i < n; ++i) {
      if (is_above(i) && label[i] == first) members.push_back(i);
    }
    if (!members.empty()) clusters.push_back(std::move(members));
  }
  return clusters;
}

TEST(ParticleClusters, AreThoseOfEveryPair) {
  for (const std::uint64_t seed : {1, 2, 3}) {
    Cloud cloud = testing::CubeCloud(400, seed);
    for (float& x : cloud) x *= 0.35f;  // neighbours about 4 cm apart, on both sides of 0
    const ParticleClusters clusters = ClusterParticles(cloud, Free(cloud));
    EXPECT_EQ(clusters.members, SlowClusters(cloud, clusters.support_m)) << seed;
    EXPECT_GT(clusters.members.size(), 1u) << seed;
  }
}

}  // namespace
}  // namespace interlacer
