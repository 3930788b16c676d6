#pragma once

/// Open3D's projection of a coloured point cloud into a picture: one pixel a point, the nearest
/// wins. Errors: std::runtime_error of Open3D. Threads: one at a time.

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/camera.h"

namespace interlacer::bench {

struct PointProjection {
  std::string version;
  std::string missing;
  /// Takes positions [n,3] in metres and colours [n,3] in [0,1] once; calls project a view of the
  /// camera and return its depth [h,w] in metres, 0 where nothing lands.
  std::function<std::function<std::vector<float>()>(
      std::span<const float> positions_m, std::span<const float> colors, const Camera& camera)>
      prepare;
};

PointProjection Open3dProjection();

}  // namespace interlacer::bench
