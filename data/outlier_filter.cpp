#include "data/outlier_filter.h"

#if INTERLACER_WITH_OUTLIER_FILTER
#include <open3d/geometry/PointCloud.h>

#include <exception>
#include <numeric>
#include <string>

namespace interlacer {
namespace {

std::vector<std::size_t> Kept(const open3d::geometry::PointCloud& cloud,
                              const OutlierFilter& filter) {
  const auto neighbors = static_cast<std::size_t>(filter.neighbor_count);
  if (filter.kind == OutlierFilterKind::kRadius) {
    return std::get<1>(cloud.RemoveRadiusOutliers(neighbors, filter.radius_m));
  }
  // Open3D counts the point itself among its neighbours.
  return std::get<1>(cloud.RemoveStatisticalOutliers(neighbors + 1, filter.std_ratio));
}

}  // namespace

bool OutlierFilterAvailable() { return true; }

StatusOr<std::vector<std::int64_t>> FindInliers(std::span<const float> positions_m,
                                                const OutlierFilter& filter) {
  const auto n = static_cast<std::int64_t>(positions_m.size() / 3);
  std::vector<std::int64_t> all(static_cast<std::size_t>(n));
  std::iota(all.begin(), all.end(), 0);
  if (n <= filter.neighbor_count) return all;
  open3d::geometry::PointCloud cloud;
  cloud.points_.reserve(all.size());
  for (const std::int64_t i : all) {
    const float* p = positions_m.data() + 3 * i;
    cloud.points_.emplace_back(p[0], p[1], p[2]);
  }
  std::vector<std::size_t> kept;
  try {
    kept = Kept(cloud, filter);
  } catch (const std::exception& error) {
    return Internal(std::string("Open3D: ") + error.what());
  }
  // Open3D keeps points strictly below its bound, and so none where all distances are equal.
  if (kept.empty() && filter.kind == OutlierFilterKind::kStatistical) return all;
  return std::vector<std::int64_t>(kept.begin(), kept.end());
}

}  // namespace interlacer

#else

namespace interlacer {

bool OutlierFilterAvailable() { return false; }

StatusOr<std::vector<std::int64_t>> FindInliers(std::span<const float>, const OutlierFilter&) {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "lifting.outlier_filter: built without Open3D (INTERLACER_WITH_OPEN3D)")
      .WithField("lifting.outlier_filter");
}

}  // namespace interlacer

#endif
