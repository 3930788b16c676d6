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

/// `near` over `far`, or under it where far is clearly in front.
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
    if (hides || near->coverage[i] < kFullCoverage) {
      if (std::isfinite(far_m)) near->depth.pixels_m[i] = far_m;
    }
    near->coverage[i] = std::min(covered, 1.f);
  }
}

}  // namespace

StatusOr<ObservedPicture> ObservedRenderer::RenderNearestFirst(
    const Camera& camera, std::span<const float> positions_m) const {
  INTERLACER_ASSIGN_OR_RETURN(const DiscView view, ViewFrom(camera));
  const bool is_recorded = view.own_frame >= 0;
  if (is_recorded || frames_.size() < 2 || positions_m.size() != positions_m_.size()) {
    return Render(camera, positions_m);
  }
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
    INTERLACER_ASSIGN_OR_RETURN(ObservedPicture layer, Render(camera, layer_m));
    if (is_first) {
      picture = std::move(layer);
    } else {
      AddLayer(layer, &picture);
    }
  }
  return picture;
}

}  // namespace interlacer
