#pragma once

/// The rigid motion that takes points nearest to where they are later.

#include <span>

#include "common/geometry.h"

namespace interlacer {

/// later_from_now with the least sum of squared distances, of as many points now and later, finite.
/// Identity in every bit where none has moved. Of points that span no plane, within kFlatM of a
/// line (two always are), how they turn is not known: the motion of their mean; without points
/// identity. Pure function.
/// Source: rigid-fit, without the scale.
Transform FitRigidMotion(std::span<const Vec3d> now_m, std::span<const Vec3d> later_m);

inline constexpr double kFlatM = 0.002;

}  // namespace interlacer
