#include "render/particle_preview.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace interlacer {
namespace {

constexpr double kMaxDiscRadiusPx = 64;

/// Calls visit(pixel index) for the pixels of a disc that lie in the image.
template <typename Visit>
void VisitDisc(const Camera& camera, double u_px, double v_px, double radius_px, Visit visit) {
  // Such a disc may lie where no int counts rows and columns.
  const bool is_outside = u_px + radius_px < 0 || u_px - radius_px > camera.width_px ||
                          v_px + radius_px < 0 || v_px - radius_px > camera.height_px;
  if (is_outside) return;
  const int first_row = static_cast<int>(std::max(std::ceil(v_px - radius_px), 0.0));
  const int last_row =
      static_cast<int>(std::min(std::floor(v_px + radius_px), camera.height_px - 1.0));
  for (int row = first_row; row <= last_row; ++row) {
    const double dv = row - v_px;
    const double half = std::sqrt(std::max(radius_px * radius_px - dv * dv, 0.0));
    const int first = static_cast<int>(std::max(std::ceil(u_px - half), 0.0));
    const int last = static_cast<int>(std::min(std::floor(u_px + half), camera.width_px - 1.0));
    for (int column = first; column <= last; ++column) {
      visit(static_cast<std::size_t>(row) * camera.width_px + column);
    }
  }
}

}  // namespace

StatusOr<ParticlePreview> RenderParticlePreview(const Camera& camera,
                                                std::span<const float> positions_m,
                                                std::span<const std::uint8_t> colors_rgb8,
                                                const PreviewOptions& options) {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(camera));
  if (positions_m.size() % 3 != 0 || colors_rgb8.size() != positions_m.size()) {
    return Mismatch(
        reason::SHAPE_MISMATCH, "colors_rgb8", "as many values as positions_m, 3 a particle",
        std::to_string(colors_rgb8.size()) + " for " + std::to_string(positions_m.size()));
  }
  const double radius_px = options.disc_radius_px;
  if (!(radius_px > 0 && radius_px <= kMaxDiscRadiusPx)) {
    return Mismatch(reason::ARGUMENT_INVALID, "disc_radius_px", "a number in (0,64]",
                    std::to_string(radius_px));
  }
  const std::size_t pixel_count = static_cast<std::size_t>(camera.width_px) * camera.height_px;
  ParticlePreview preview{
      {camera.width_px, camera.height_px,
       std::vector<std::uint8_t>(3 * pixel_count, options.background)},
      {camera.width_px, camera.height_px,
       std::vector<float>(pixel_count, std::numeric_limits<float>::quiet_NaN())}};
  for (std::size_t i = 0; i < positions_m.size(); i += 3) {
    const ProjectedPixel at =
        Project(camera, {positions_m[i], positions_m[i + 1], positions_m[i + 2]});
    if (!(at.depth_m >= options.near_m) || !std::isfinite(at.u_px) || !std::isfinite(at.v_px)) {
      continue;
    }
    const float depth_m = static_cast<float>(at.depth_m);
    VisitDisc(camera, at.u_px, at.v_px, radius_px, [&](std::size_t pixel) {
      // NaN, where nothing is drawn yet, compares false.
      if (preview.depth.pixels_m[pixel] <= depth_m) return;
      preview.depth.pixels_m[pixel] = depth_m;
      std::copy_n(colors_rgb8.data() + i, 3, preview.color.pixels.data() + 3 * pixel);
    });
  }
  return preview;
}

}  // namespace interlacer
