#pragma once

/// Filters outliers from a point cloud, such as flying pixels: points that a depth camera measures
/// between a foreground and the background behind it.
///
///   positions_m  [n,3] float32, metres, finite
/// kStatistical keeps points whose mean distance to their `neighbor_count` nearest other points is
/// below mean + std_ratio * standard deviation of that distance over the cloud. kRadius keeps
/// points with at least `neighbor_count` other points within `radius_m`. A cloud of no more than
/// neighbor_count points is too small to judge, and one without any spread of distances has no
/// outliers: both are kept whole.
/// Determinism: equal inputs give equal indices for any thread count.
/// Errors: UNIMPLEMENTED FEATURE_NOT_BUILT (built without Open3D), INTERNAL if Open3D throws.
/// Thread-safe. Source: open3d.

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"

namespace interlacer {

enum class OutlierFilterKind { kStatistical, kRadius };

struct OutlierFilter {
  OutlierFilterKind kind = OutlierFilterKind::kStatistical;
  int neighbor_count = 16;
  double std_ratio = 2;    ///< kStatistical
  double radius_m = 0.02;  ///< kRadius
  bool operator==(const OutlierFilter&) const = default;
};

/// True if built with Open3D.
bool OutlierFilterAvailable();

/// Ascending indices of the points that `filter` keeps.
StatusOr<std::vector<std::int64_t>> FindInliers(std::span<const float> positions_m,
                                                const OutlierFilter& filter);

}  // namespace interlacer
