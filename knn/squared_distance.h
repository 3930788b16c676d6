#pragma once

/// Squared distance of two points as every exact back end of knn/knn_index.h rounds it. Pure,
/// thread-safe.

#include <cmath>

namespace interlacer {

/// Square metres of points [3] in metres.
inline float SquaredDistance(const float* a_m, const float* b_m) {
  const float dx = b_m[0] - a_m[0];
  const float dy = b_m[1] - a_m[1];
  const float dz = b_m[2] - a_m[2];
  return std::fma(dz, dz, std::fma(dy, dy, dx * dx));
}

}  // namespace interlacer
