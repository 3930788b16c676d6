#pragma once

/// Axis-aligned boxes around points. Lengths in metres. Errors: none. Thread-safety: pure
/// functions.

#include <algorithm>
#include <cstddef>
#include <limits>

#include "common/geometry.h"

namespace interlacer {

/// The box around no points: min above max, nothing lies in it.
constexpr Box NoBox() {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  return {{kFar, kFar, kFar}, {-kFar, -kFar, -kFar}};
}

inline void Include(const Vec3d& point_m, Box* box) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    box->min_m[axis] = std::min(box->min_m[axis], point_m[axis]);
    box->max_m[axis] = std::max(box->max_m[axis], point_m[axis]);
  }
}

/// With so much more on each side.
inline Box Grown(Box box, double by_m) {
  for (double& low_m : box.min_m) low_m -= by_m;
  for (double& high_m : box.max_m) high_m += by_m;
  return box;
}

}  // namespace interlacer
