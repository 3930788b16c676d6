#pragma once

/// Tests the depths of an episode by its poses: where two views see the same surface from different
/// places, only the right unit, the right poses and depths along the axis put it in one place, and
/// its colours beside its colours (color_agreement.h).

#include <optional>

#include "data/episode_reader.h"

namespace interlacer {

/// DEPTH_UNIT_SUSPECT where the views disagree and another unit in use (1, 0.25, 0.2, 0.1 mm, ...)
/// lets them agree far better. CALIBRATION_SUSPECT where they disagree and no unit helps, for
/// moving cameras: fixed ones are compared by data/validate.h. Nothing where they agree or where
/// too few pixels show the same place. Reads a few pairs of frames. Thread-safe.
std::optional<Finding> CompareDepthWithPoses(const EpisodeReader& episode);

}  // namespace interlacer
