#include "data/rectified_view.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

namespace interlacer {
namespace {

/// Colour of the four pixels around (u,v); the point must lie between pixel centres.
void SampleColor(const RgbImage& image, double u, double v, std::uint8_t* out) {
  const int x = std::clamp(static_cast<int>(u), 0, std::max(0, image.width_px - 2));
  const int y = std::clamp(static_cast<int>(v), 0, std::max(0, image.height_px - 2));
  const int right = std::min(x + 1, image.width_px - 1);
  const int below = std::min(y + 1, image.height_px - 1);
  const double a = u - x, b = v - y;
  const auto at = [&](int column, int row, int channel) {
    return static_cast<double>(
        image.pixels[(static_cast<std::size_t>(row) * image.width_px + column) * 3 + channel]);
  };
  for (int c = 0; c < 3; ++c) {
    const double top = (1 - a) * at(x, y, c) + a * at(right, y, c);
    const double bottom = (1 - a) * at(x, below, c) + a * at(right, below, c);
    out[c] = static_cast<std::uint8_t>(std::lround((1 - b) * top + b * bottom));
  }
}

}  // namespace

RgbdView RectifiedView(const RgbdView& view) {
  if (view.camera.distortion_model == DistortionModel::kNone) return view;
  RgbdView out = view;
  out.camera = RectifiedCamera(view.camera);
  const int width = view.color.width_px, height = view.color.height_px;
  for (int row = 0; row < height; ++row) {
    for (int column = 0; column < width; ++column) {
      const std::size_t at = static_cast<std::size_t>(row) * width + column;
      const ProjectedPixel source = Project(view.camera, Unproject(out.camera, column, row, 1.0));
      const bool is_seen = source.u_px >= 0 && source.v_px >= 0 && source.u_px <= width - 1 &&
                           source.v_px <= height - 1;
      if (!is_seen) {
        std::fill_n(&out.color.pixels[3 * at], 3, std::uint8_t{255});
        out.depth.pixels_m[at] = std::numeric_limits<float>::quiet_NaN();
        continue;
      }
      SampleColor(view.color, source.u_px, source.v_px, &out.color.pixels[3 * at]);
      const auto nearest = static_cast<std::size_t>(std::lround(source.v_px)) * width +
                           static_cast<std::size_t>(std::lround(source.u_px));
      out.depth.pixels_m[at] = view.depth.pixels_m[nearest];
    }
  }
  return out;
}

}  // namespace interlacer
