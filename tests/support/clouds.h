#pragma once

/// Point clouds for tests: random ones of a given seed, and fixed difficult ones. [n,3] in metres.

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "common/random.h"

namespace interlacer::testing {

using Cloud = std::vector<float>;

inline void AddPoint(Cloud& cloud, double x, double y, double z) {
  cloud.push_back(static_cast<float>(x));
  cloud.push_back(static_cast<float>(y));
  cloud.push_back(static_cast<float>(z));
}

/// Uniform in a cube of edge 1 m around `center_m` on every axis.
inline Cloud CubeCloud(int n, std::uint64_t seed, double center_m = 0) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Cloud cloud;
  for (int i = 0; i < 3 * n; ++i) {
    cloud.push_back(static_cast<float>(center_m + random.Uniform(-0.5, 0.5)));
  }
  return cloud;
}

/// A table with a bump seen at two times: n/2 points each, 1 mm of depth noise.
inline Cloud SheetCloud(int n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Cloud cloud;
  for (int i = 0; i < n; ++i) {
    const double x = random.Uniform(-0.75, 0.75);
    const double y = random.Uniform(-0.75, 0.75);
    const double bump = 0.3 * std::exp(-8 * (x * x + y * y));
    AddPoint(cloud, x, y, bump + 0.001 * random.Normal());
  }
  return cloud;
}

/// Integer lattice of side^3 points: every distance is tied many times.
inline Cloud LatticeCloud(int side) {
  Cloud cloud;
  for (int x = 0; x < side; ++x) {
    for (int y = 0; y < side; ++y) {
      for (int z = 0; z < side; ++z) AddPoint(cloud, x, y, z);
    }
  }
  return cloud;
}

/// n times the same point.
inline Cloud CoincidentCloud(int n) {
  Cloud cloud;
  for (int i = 0; i < n; ++i) AddPoint(cloud, 0.25, -1, 3);
  return cloud;
}

/// Every point of a cube cloud twice, the copies far apart in index.
inline Cloud DoubledCloud(int n, std::uint64_t seed) {
  Cloud cloud = CubeCloud(n / 2, seed);
  const Cloud copy = cloud;
  cloud.insert(cloud.end(), copy.begin(), copy.end());
  return cloud;
}

/// Ten clusters of a millimetre within ten metres.
inline Cloud ClusteredCloud(int n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  double centers_m[10][3];
  for (auto& center : centers_m) {
    for (double& c : center) c = random.Uniform(-5, 5);
  }
  Cloud cloud;
  for (int i = 0; i < n; ++i) {
    const double* center = centers_m[random.Below(10)];
    AddPoint(cloud, center[0] + 0.001 * random.Normal(), center[1] + 0.001 * random.Normal(),
             center[2] + 0.001 * random.Normal());
  }
  return cloud;
}

/// A cube cloud with a few points up to 1e6 m away.
inline Cloud OutlierCloud(int n, std::uint64_t seed) {
  Cloud cloud = CubeCloud(n - 12, seed);
  RandomSequence random(seed + 1, RandomStream::kDataGeneration);
  for (int i = 0; i < 12; ++i) {
    const double far_m = std::pow(10.0, 1 + i % 6);
    AddPoint(cloud, random.Uniform(-far_m, far_m), random.Uniform(-far_m, far_m),
             random.Uniform(-far_m, far_m));
  }
  return cloud;
}

/// Distances from 1e-6 m to 1e3 m around one point.
inline Cloud PowerLawCloud(int n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Cloud cloud;
  for (int i = 0; i < n; ++i) {
    const double radius_m = std::pow(10.0, random.Uniform(-6, 3));
    AddPoint(cloud, radius_m * random.Normal(), radius_m * random.Normal(),
             radius_m * random.Normal());
  }
  return cloud;
}

/// Points on one line along x, unevenly spaced.
inline Cloud LineCloud(int n, std::uint64_t seed) {
  RandomSequence random(seed, RandomStream::kDataGeneration);
  Cloud cloud;
  for (int i = 0; i < n; ++i) AddPoint(cloud, std::pow(random.Uniform(0, 1), 4), 0, 0);
  return cloud;
}

/// A cube cloud scaled by a factor.
inline Cloud ScaledCloud(int n, std::uint64_t seed, float factor) {
  Cloud cloud = CubeCloud(n, seed);
  for (float& c : cloud) c *= factor;
  return cloud;
}

struct NamedCloud {
  std::string name;
  Cloud positions_m;
};

/// Clouds on which neighbour searches tend to go wrong, up to about `n` points each.
inline std::vector<NamedCloud> AwkwardClouds(int n, std::uint64_t seed) {
  return {{"cube", CubeCloud(n, seed)},
          {"sheet", SheetCloud(n, seed)},
          {"lattice", LatticeCloud(static_cast<int>(std::cbrt(n)))},
          {"coincident", CoincidentCloud(n)},
          {"doubled", DoubledCloud(n, seed)},
          {"clustered", ClusteredCloud(n, seed)},
          {"outliers", OutlierCloud(n, seed)},
          {"power_law", PowerLawCloud(n, seed)},
          {"line", LineCloud(n, seed)},
          {"offset_plus_1e6", CubeCloud(n, seed, 1e6)},
          {"offset_minus_1e6", CubeCloud(n, seed, -1e6)},
          {"offset_1e3", CubeCloud(n, seed, 1e3)},
          {"distances_overflow", ScaledCloud(n, seed, 1e30f)},
          {"distances_underflow", ScaledCloud(n, seed, 1e-24f)}};
}

}  // namespace interlacer::testing
