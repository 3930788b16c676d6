#pragma once

/// Coloured point clouds in PLY files, through Open3D.
///
/// positions_m [n,3] float32, colors_rgb8 [n,3] or empty. Writes binary PLY under a temporary name.
/// Errors: UNIMPLEMENTED FEATURE_NOT_BUILT (built without Open3D), FILE_NOT_FOUND, FILE_UNREADABLE,
/// FILE_UNWRITABLE, SHAPE_MISMATCH. Thread-safe.

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct PointCloud {
  std::vector<float> positions_m;
  std::vector<std::uint8_t> colors_rgb8;
};

Status WritePointCloud(const std::string& path, const PointCloud& cloud);
StatusOr<PointCloud> ReadPointCloud(const std::string& path);

}  // namespace interlacer
