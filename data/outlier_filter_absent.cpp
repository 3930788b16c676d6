#include "data/outlier_filter.h"

namespace interlacer {

bool OutlierFilterAvailable() { return false; }

StatusOr<std::vector<std::int64_t>> FindInliers(std::span<const float>, const OutlierFilter&) {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "lifting.outlier_filter: built without Open3D (INTERLACER_WITH_OPEN3D)")
      .WithField("lifting.outlier_filter");
}

}  // namespace interlacer
