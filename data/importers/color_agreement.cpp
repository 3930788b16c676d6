#include "data/importers/color_agreement.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace interlacer {
namespace {

constexpr std::int64_t kMaxProbes = 20000;
constexpr int kMinShared = 200;
/// Of the depth: a point that lies farther behind the other view's surface is hidden from it.
constexpr double kHiddenShare = 0.05;
/// Grey levels; noise alone varies by less.
constexpr double kMinDeviation = 4;

double Brightness(const RgbImage& image, std::size_t pixel) {
  const std::uint8_t* rgb = &image.pixels[3 * pixel];
  return 0.299 * rgb[0] + 0.587 * rgb[1] + 0.114 * rgb[2];
}

/// Sums of a correlation.
struct Moments {
  int count = 0;
  double x = 0, y = 0, xx = 0, yy = 0, xy = 0;

  void Add(double a, double b) {
    ++count;
    x += a;
    y += b;
    xx += a * a;
    yy += b * b;
    xy += a * b;
  }

  std::optional<double> Correlation() const {
    const double variance_x = xx / count - x / count * (x / count);
    const double variance_y = yy / count - y / count * (y / count);
    if (count < kMinShared || !(std::min(variance_x, variance_y) > kMinDeviation * kMinDeviation)) {
      return std::nullopt;
    }
    return (xy / count - x / count * (y / count)) / std::sqrt(variance_x * variance_y);
  }
};

}  // namespace

std::optional<double> ColorCorrelation(const RgbdView& a, const RgbdView& b) {
  const std::int64_t pixels = std::int64_t{b.depth.width_px} * b.depth.height_px;
  const std::int64_t stride = std::max<std::int64_t>(1, pixels / kMaxProbes);
  Moments moments;
  for (std::int64_t i = 0; i < pixels; i += stride) {
    const auto at_b = static_cast<std::size_t>(i);
    const double depth_b_m = b.depth.pixels_m[at_b];
    if (!(depth_b_m > 0)) continue;
    const Vec3d point_m = Unproject(b.camera, static_cast<double>(i % b.depth.width_px),
                                    static_cast<double>(i / b.depth.width_px), depth_b_m);
    const ProjectedPixel seen = Project(a.camera, point_m);
    const double u = std::round(seen.u_px), v = std::round(seen.v_px);
    if (!(seen.depth_m > 0 && u >= 0 && u < a.depth.width_px && v >= 0 && v < a.depth.height_px)) {
      continue;
    }
    const auto at_a = static_cast<std::size_t>(v) * a.depth.width_px + static_cast<std::size_t>(u);
    const double depth_a_m = a.depth.pixels_m[at_a];
    if (!(depth_a_m > 0) || seen.depth_m > (1 + kHiddenShare) * depth_a_m) continue;
    moments.Add(Brightness(a.color, at_a), Brightness(b.color, at_b));
  }
  return moments.Correlation();
}

}  // namespace interlacer
