#pragma once

/// Computes depth range and workspace box of a recording from its points.
///
/// Add takes every 8th pixel in both directions, fewer where that would be more than `max_samples`.
/// Far is the 99th percentile of the measured
/// ranges rounded up to 0.1 m; the box spans the 1st to the 99th percentile of each world axis over
/// the points between near and far, grown by 5 % of its side (2 cm at least) on every face, so that
/// a flat wall at its border is not cut into speckles. Deterministic. Threads: one at a time.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/camera.h"
#include "common/geometry.h"
#include "common/image.h"
#include "common/status.h"

namespace interlacer {

class SceneExtent {
 public:
  void Add(const Camera& camera, const DepthImage16& depth,
           std::int64_t max_samples = std::int64_t{1} << 20);
  void Append(SceneExtent other);

  struct Result {
    double near_m = 0;
    double far_m = 0;
    Box workspace;
    std::vector<std::string> notes;  ///< how they were found
  };
  /// Given values are kept, the others computed. Errors: INVALID_ARGUMENT NO_DEPTH (no measured
  /// pixel in range), DEPTH_RANGE_INVALID, WORKSPACE_INVALID.
  StatusOr<Result> Finish(std::optional<double> near_m, std::optional<double> far_m,
                          const std::optional<Box>& workspace) const;

 private:
  struct Sample {
    double range_m;
    Vec3d world_m;
  };
  std::vector<Sample> samples_;
};

}  // namespace interlacer
