#pragma once

/// Facts and findings about calibrated RGB-D views, which a user should check before trusting a
/// prediction.
///
/// Findings: CALIBRATION_SUSPECT (median cross-camera distance above 3 cm, or two views with
/// points that hardly share any), LOW_VALID_DEPTH (ratio below 0.3), MOSTLY_OUTSIDE_WORKSPACE
/// (ratio below 0.05), CAMERA_SKEW_HIGH (above half of the limit); their fields are relative to the
/// observation, such as "views[1].calibration". Cross-camera distance of views
/// a, b: for each valid point of b that projects into a and is not hidden behind a's surface by
/// more than 5 cm, the distance to the nearest point of a in a window around that pixel; the median
/// over 500 points or more. Pure functions, thread-safe.

#include <cstdint>
#include <span>

#include "common/scene.h"
#include "data/unproject.h"

namespace interlacer {

struct SceneReportOptions {
  double suspect_distance_m = 0.03;
  double max_camera_skew_s = 0.05;
};

/// The report of one observation; the views are those of the newest time.
SceneReport ReportScene(std::span<const RgbdView> views, const LiftRegion& region,
                        const SceneReportOptions& options = {});

struct CrossCameraDistance {
  std::int64_t shared_point_count = 0;
  double median_m = -1;         ///< negative below 500 shared points
  bool views_disagree = false;  ///< both have points, yet hardly one of b lies before a's surface
};
CrossCameraDistance MeasureCrossCameraDistance(const RgbdView& a, const RgbdView& b,
                                               const LiftRegion& region);

}  // namespace interlacer
