#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "render/observed_renderer.h"

namespace interlacer {
namespace {

/// A surface seen by a farther camera is another one, which hides the nearer camera's, from so much
/// of its depth on; less is calibration and noise.
constexpr float kOtherSurfaceBand = 0.05f;
/// Gaps within a surface are up to so many pixels wide on either side of a pixel.
constexpr int kGapReachPx = 2;
/// Pixels on two sides of a gap show one surface up to this share of their depth.
constexpr float kSameSurfaceBand = 0.02f;

/// Frames by the distance of their camera; of equally near ones the first.
std::vector<std::int32_t> NearestFirst(const std::vector<ObservedFrame>& frames,
                                       const Camera& camera) {
  const auto sq_dist_m2 = [&](std::int32_t f) {
    double sum = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double d =
          frames[static_cast<std::size_t>(f)].camera.world_from_camera.translation_m[axis] -
          camera.world_from_camera.translation_m[axis];
      sum += d * d;
    }
    return sum;
  };
  std::vector<std::int32_t> order(frames.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return sq_dist_m2(a) < sq_dist_m2(b); });
  return order;
}

/// Where one frame shows a surface on both sides of a pixel that it covers less than wholly, it
/// covers it: depth that was aligned to another camera's pixels has rows and columns without
/// values, and another frame's pixels between them, lit otherwise, would be a mesh over the
/// surface. Not where the pixel shows something in front of that surface: a cable is no gap.
void CloseGaps(ObservedPicture* picture) {
  const ObservedPicture open = *picture;
  const int width = open.color.width_px, height = open.color.height_px;
  const auto distance_to_covered = [&](int row, int column, int down, int right) {
    for (int d = 1; d <= kGapReachPx; ++d) {
      const int r = row + d * down, c = column + d * right;
      if (r < 0 || c < 0 || r >= height || c >= width) return 0;
      if (open.coverage[static_cast<std::size_t>(r) * width + c] >= 1) return d;
    }
    return 0;
  };
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const std::size_t i = static_cast<std::size_t>(row) * width + column;
      if (open.coverage[i] >= 1) continue;
      float rgb_depth[4] = {0, 0, 0, 0}, total = 0;
      for (const auto& [down, right] :
           {std::pair(0, 1), std::pair(1, 0), std::pair(1, 1), std::pair(1, -1)}) {
        const int before = distance_to_covered(row, column, -down, -right);
        const int after = distance_to_covered(row, column, down, right);
        if (before == 0 || after == 0) continue;
        const std::size_t step = static_cast<std::size_t>(down * width + right);
        const std::size_t ends[] = {i - static_cast<std::size_t>(before) * step,
                                    i + static_cast<std::size_t>(after) * step};
        const float a_m = open.depth.pixels_m[ends[0]], b_m = open.depth.pixels_m[ends[1]];
        const float band_m = kSameSurfaceBand * std::min(a_m, b_m);
        if (!(std::abs(a_m - b_m) <= band_m)) continue;
        // NaN, where nothing lands, compares false.
        if (open.depth.pixels_m[i] < std::min(a_m, b_m) - band_m) continue;
        for (int k = 0; k < 2; ++k) {
          const float weight = 1 / static_cast<float>(k == 0 ? before : after);
          for (std::size_t c = 0; c < 3; ++c) {
            rgb_depth[c] += weight * open.color.pixels[3 * ends[k] + c];
          }
          rgb_depth[3] += weight * open.depth.pixels_m[ends[k]];
          total += weight;
        }
      }
      if (total == 0) continue;
      const float covered = open.coverage[i];
      for (std::size_t c = 0; c < 3; ++c) {
        picture->color.pixels[3 * i + c] =
            covered * open.color.pixels[3 * i + c] + (1 - covered) * rgb_depth[c] / total;
      }
      picture->coverage[i] = 1;
      picture->depth.pixels_m[i] = rgb_depth[3] / total;
    }
  }
}

/// `near` over `far`, or under it where far is clearly in front. A pixel's depth is that of the
/// layer of which it shows more.
void AddLayer(const ObservedPicture& far, ObservedPicture* near) {
  for (std::size_t i = 0; i < far.coverage.size(); ++i) {
    const float far_m = far.depth.pixels_m[i], near_m = near->depth.pixels_m[i];
    // NaN, where nothing lands, compares false.
    const bool hides = far.coverage[i] >= kFullCoverage && far_m < near_m * (1 - kOtherSurfaceBand);
    const float top = hides ? far.coverage[i] : near->coverage[i];
    const float below = (1 - top) * (hides ? near->coverage[i] : far.coverage[i]);
    if (below == 0 && !hides) continue;
    const float covered = top + below;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      float& value = near->color.pixels[c];
      const float over = hides ? far.color.pixels[c] : value;
      const float under = hides ? value : far.color.pixels[c];
      value = (top * over + below * under) / covered;
    }
    if (hides || below > top || !std::isfinite(near_m)) near->depth.pixels_m[i] = far_m;
    near->coverage[i] = std::min(covered, 1.f);
  }
}

/// The colours of `preferred` as far as it covers a pixel, unless what all frames show lies in
/// front.
void PreferColors(const ObservedPicture& preferred, double depth_band, ObservedPicture* all) {
  const auto nearer = static_cast<float>(1 - depth_band);
  for (std::size_t i = 0; i < all->coverage.size(); ++i) {
    // NaN, where nothing lands, compares false.
    if (!(preferred.depth.pixels_m[i] * nearer <= all->depth.pixels_m[i])) continue;
    const float covered = preferred.coverage[i];
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      float& value = all->color.pixels[c];
      value = covered * preferred.color.pixels[c] + (1 - covered) * value;
    }
  }
}

}  // namespace

StatusOr<ObservedPicture> ObservedRenderer::RenderPreferring(
    std::int32_t frame, const Camera& camera, std::span<const float> positions_m) const {
  INTERLACER_ASSIGN_OR_RETURN(ObservedPicture picture, Render(camera, positions_m));
  std::vector<float> preferred_m(positions_m.begin(), positions_m.end());
  for (std::size_t i = 0; i < frame_of_.size(); ++i) {
    if (frame_of_[i] != frame) preferred_m[3 * i] = std::nanf("");
  }
  INTERLACER_ASSIGN_OR_RETURN(const ObservedPicture preferred, Render(camera, preferred_m));
  PreferColors(preferred, options_.depth_band, &picture);
  return picture;
}

StatusOr<ObservedPicture> ObservedRenderer::RenderNearestFirst(
    const Camera& camera, std::span<const float> positions_m) const {
  INTERLACER_ASSIGN_OR_RETURN(const DiscView view, ViewFrom(camera));
  if (frames_.size() < 2 || positions_m.size() != positions_m_.size()) {
    return Render(camera, positions_m);
  }
  if (view.own_frame >= 0) return RenderPreferring(view.own_frame, camera, positions_m);
  const SurfelArrays surfels = SurfelsAt(positions_m.data());
  const std::vector<std::int32_t> order = NearestFirst(frames_, camera);
  ObservedPicture picture;
  std::vector<float> layer_m(positions_m.size());
  for (const std::int32_t frame : order) {
    const bool is_first = frame == order.front();
    std::copy(positions_m.begin(), positions_m.end(), layer_m.begin());
    for (std::int64_t i = 0; i < surfels.count; ++i) {
      const bool is_in_layer = HasMoved(surfels, i) ? is_first : surfels.frame_of[i] == frame;
      if (!is_in_layer) layer_m[static_cast<std::size_t>(3 * i)] = std::nanf("");
    }
    // What moved is in the first layer, whoever saw it; the others hold one frame each.
    INTERLACER_ASSIGN_OR_RETURN(
        ObservedPicture layer,
        is_first ? RenderPreferring(frame, camera, layer_m) : Render(camera, layer_m));
    CloseGaps(&layer);
    if (is_first) {
      picture = std::move(layer);
    } else {
      AddLayer(layer, &picture);
    }
  }
  return picture;
}

}  // namespace interlacer
