#include "render/narrow_holes.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "render/fill_holes.h"

namespace interlacer {
namespace {

/// [h,w] distance to the nearest covered pixel, at most kFarPx. Two sweeps over the neighbours that
/// were visited before are exact for this distance.
std::vector<int> DistancesPx(const ObservedPicture& picture) {
  const int width = picture.color.width_px, height = picture.color.height_px;
  std::vector<int> distances_px(picture.coverage.size(), kFarPx);
  const auto at = [&](int row, int column) -> int& {
    return distances_px[static_cast<std::size_t>(row) * width + column];
  };
  const auto lower = [&](int row, int column, int row_step) {
    int& distance = at(row, column);
    const std::pair<int, int> visited[] = {
        {row_step, -1}, {row_step, 0}, {row_step, 1}, {0, row_step}};
    for (const auto& [down, right] : visited) {
      const int r = row + down, c = column + right;
      if (r < 0 || c < 0 || r >= height || c >= width) continue;
      distance = std::min(distance, at(r, c) + 1);
    }
  };
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const std::size_t i = static_cast<std::size_t>(row) * width + column;
      if (picture.coverage[i] >= kFullCoverage) distances_px[i] = 0;
      lower(row, column, -1);
    }
  }
  for (int row = height - 1; row >= 0; --row) {
    for (int column = width - 1; column >= 0; --column) lower(row, column, 1);
  }
  return distances_px;
}

}  // namespace

Status FillNarrowHoles(ObservedPicture* picture) {
  const std::vector<int> distances_px = DistancesPx(*picture);
  bool has_gaps = false;
  for (std::size_t i = 0; i < distances_px.size(); ++i) {
    has_gaps = has_gaps || (distances_px[i] < kFarPx && picture->coverage[i] < 1);
  }
  if (!has_gaps) return Status::Ok();
  FloatImage filled = picture->color;
  INTERLACER_RETURN_IF_ERROR(FillHoles(picture->coverage, picture->depth, 1, &filled));
  for (std::size_t i = 0; i < distances_px.size(); ++i) {
    if (distances_px[i] == kFarPx || picture->coverage[i] == 1) continue;
    std::copy_n(filled.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i), 3,
                picture->color.pixels.begin() + static_cast<std::ptrdiff_t>(3 * i));
    if (distances_px[i] == 0) continue;
    const float nearness =
        static_cast<float>(kFarPx - distances_px[i]) / static_cast<float>(kFarPx - kNearPx);
    picture->coverage[i] = std::max(picture->coverage[i], std::min(nearness, 1.f));
    picture->depth.pixels_m[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return Status::Ok();
}

}  // namespace interlacer
