#pragma once

#include <cstdint>
#include <numeric>
#include <vector>

#include "render/rays.h"

namespace interlacer::testing {

/// One ray a pixel of the camera, row-major from the top left.
inline PixelRays ImageRays(const Camera& camera) {
  std::vector<std::int64_t> pixels(static_cast<std::size_t>(camera.width_px) * camera.height_px);
  std::iota(pixels.begin(), pixels.end(), std::int64_t{0});
  return MakePixelRays(camera, pixels).value();
}

}  // namespace interlacer::testing
