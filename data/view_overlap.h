#pragma once

/// Decides whether two cameras show the same place: their axes differ by a bounded angle and their
/// centres by a bounded part of the far limit. Cheap and approximate: occlusion is ignored. Pure
/// function, thread-safe.

#include "common/camera.h"

namespace interlacer {

struct OverlapLimits {
  double max_angle_rad = 0.6;
  double max_baseline_ratio = 0.3;  ///< of far_m
};

bool ViewsOverlap(const Camera& a, const Camera& b, double far_m, const OverlapLimits& limits = {});

}  // namespace interlacer
