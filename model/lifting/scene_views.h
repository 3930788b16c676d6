#pragma once

/// Checks a scene against the model's contract and resamples its views to the model's image size.
///
/// Result: for each of the two observations the views in the order of the model's cameras, at the
/// model's image size. Errors: INVALID_ARGUMENT HISTORY_LENGTH, HISTORY_SPACING, CAMERA_UNKNOWN,
/// CAMERA_MISSING, CAMERA_DUPLICATE, CALIBRATION_*, IMAGE_SIZE_MISMATCH, IMAGE_DATA_LENGTH,
/// DEPTH_IMPLAUSIBLE, WORKSPACE_INVALID, DEPTH_RANGE_INVALID, with field paths such as
/// "observations[1].views[0].depth". Pure functions, thread-safe.

#include <array>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "data/unproject.h"

namespace interlacer {

inline constexpr int kHistoryLength = 2;

struct SceneViews {
  std::array<std::vector<RgbdView>, kHistoryLength> times;  ///< t-2, t-1
  LiftRegion region;
  std::vector<Finding> findings;  ///< IMAGE_RESAMPLED
};

/// The view of a camera, or null.
const RgbdView* FindView(const Observation& observation, const std::string& name);

StatusOr<SceneViews> PrepareViews(const SceneInput& input, const ModelMetadata& metadata);

}  // namespace interlacer
