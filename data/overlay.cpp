#include "data/overlay.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "common/camera.h"
#include "data/unproject.h"

namespace interlacer {
namespace {

constexpr int kTilePx = 16;

}  // namespace

StatusOr<RgbImage> MakeOverlay(const EpisodeReader& episode, int step, int base_camera,
                               int overlay_camera) {
  for (int camera : {base_camera, overlay_camera}) {
    if (step < 0 || step >= episode.step_count() || camera < 0 ||
        camera >= episode.camera_count()) {
      return Mismatch(reason::STEP_INVALID, "step, camera", "a step and cameras of the episode",
                      std::to_string(step) + ", " + std::to_string(camera));
    }
  }
  INTERLACER_ASSIGN_OR_RETURN(const RgbdView base, episode.ReadView(step, base_camera));
  INTERLACER_ASSIGN_OR_RETURN(const RgbdView over, episode.ReadView(step, overlay_camera));
  const EpisodeManifest& manifest = episode.manifest();
  const EpisodeCamera& item = manifest.cameras[overlay_camera];
  const LiftRegion region{manifest.workspace, item.near_m, item.far_m};
  const LiftedPoints points = UnprojectViews({&over, 1}, region);
  const std::vector<std::uint8_t> colors = ColorsOf({&over, 1}, points.source_index);
  RgbImage picture = base.color;
  std::vector<float> nearest_m(picture.pixels.size() / 3, std::numeric_limits<float>::infinity());
  for (std::int64_t i = 0; i < points.count(); ++i) {
    const float* p = points.positions_m.data() + 3 * i;
    const ProjectedPixel pixel = Project(base.camera, {p[0], p[1], p[2]});
    const double u = std::round(pixel.u_px), v = std::round(pixel.v_px);
    if (!(pixel.depth_m > 0 && u >= 0 && u < picture.width_px && v >= 0 && v < picture.height_px)) {
      continue;
    }
    const int column = static_cast<int>(u), row = static_cast<int>(v);
    if ((column / kTilePx + row / kTilePx) % 2 == 0) continue;
    const std::size_t at = static_cast<std::size_t>(row) * picture.width_px + column;
    if (pixel.depth_m >= nearest_m[at]) continue;
    nearest_m[at] = static_cast<float>(pixel.depth_m);
    std::copy_n(colors.begin() + 3 * i, 3, picture.pixels.begin() + 3 * at);
  }
  return picture;
}

}  // namespace interlacer
