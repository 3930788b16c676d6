#pragma once

/// A picture that shows whether two cameras of an episode agree.
///
/// The base camera's picture, whose every second 16 px tile shows the points of the other camera
/// instead, nearest on top: with good calibration edges run on from tile to tile.
/// Errors: INVALID_ARGUMENT STEP_INVALID and those of data/episode_reader.h. Thread-safe.

#include "common/image.h"
#include "common/status.h"
#include "data/episode_reader.h"

namespace interlacer {

StatusOr<RgbImage> MakeOverlay(const EpisodeReader& episode, int step, int base_camera,
                               int overlay_camera);

}  // namespace interlacer
