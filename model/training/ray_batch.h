#pragma once

/// Draws the pixels that supervise one predicted step.
///
/// Uniform without replacement over the supervised pixels of all views of the step; a share of the
/// rays comes from the moving pixels alone (all of them when there are fewer). Philox stream 2, so
/// the draw depends on (seed, draw_index, step) alone. Thread-safe.
/// Source: hd-vpd (128 rays per step).

#include <cstdint>
#include <vector>

#include "common/status.h"
#include "model/training/sample.h"

namespace interlacer {

/// origins_m, directions [r,3] world frame, unit; target_rgb [r,3] in [0,1]; target_distance_m [r]
/// along the ray, NaN where the ray leaves the workspace without meeting anything.
struct TrainingRays {
  std::int64_t count = 0;
  std::vector<float> origins_m, directions, target_rgb, target_distance_m;
};

struct RayDraw {
  int ray_count = 128;
  double moving_share = 0;
  std::uint64_t seed = 0;
  std::uint32_t draw_index = 0;  ///< index of the sequence
  std::uint32_t step = 0;        ///< index of the predicted step
};

/// Gives fewer rays than requested when fewer pixels are supervised.
StatusOr<TrainingRays> DrawTrainingRays(const std::vector<SupervisedView>& views,
                                        const RayDraw& draw);

}  // namespace interlacer
