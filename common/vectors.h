#pragma once

/// Arithmetic of plain vectors of any unit. Pure functions, thread-safe.

#include <cmath>

#include "common/geometry.h"

namespace interlacer {

inline Vec3d Minus(const Vec3d& a, const Vec3d& b) {
  return {a[0] - b[0], a[1] - b[1], a[2] - b[2]};
}
inline double Dot(const Vec3d& a, const Vec3d& b) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}
inline double Length(const Vec3d& v) { return std::sqrt(Dot(v, v)); }

}  // namespace interlacer
