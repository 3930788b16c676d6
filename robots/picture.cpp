#include "robots/picture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "common/vectors.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr double kMargin = 1.08;
/// Discs reach a little over half-way to the farthest of the nearest neighbours.
constexpr double kDiscPerSpacing = 1.3;

/// Right, up and towards the viewer.
struct ViewAxes {
  Vec3d right, up, near;
};

ViewAxes AxesOf(const PictureOptions& options) {
  const double a = options.azimuth_deg * std::numbers::pi / 180;
  const double e = options.elevation_deg * std::numbers::pi / 180;
  return {{-std::sin(a), std::cos(a), 0},
          {-std::sin(e) * std::cos(a), -std::sin(e) * std::sin(a), std::cos(e)},
          {std::cos(e) * std::cos(a), std::cos(e) * std::sin(a), std::sin(e)}};
}

/// Mean distance to the nearest other point of the same link, for every link.
std::vector<double> SpacingOfLinks(const Robot& robot) {
  const SurfacePoints& surface = robot.surface;
  std::vector<double> sum(robot.links.size(), 0.0), count(robot.links.size(), 0.0);
  std::size_t begin = 0;
  for (std::size_t i = 0; i < surface.size(); ++i) {
    if (surface.links[i] != surface.links[begin]) begin = i;
    float least = std::numeric_limits<float>::infinity();
    for (std::size_t j = begin; j < surface.size() && surface.links[j] == surface.links[i]; ++j) {
      if (j == i) continue;
      float sq_m2 = 0;
      for (int k = 0; k < 3; ++k) {
        const float d = surface.positions_m[i][k] - surface.positions_m[j][k];
        sq_m2 += d * d;
      }
      least = std::min(least, sq_m2);
    }
    if (!std::isfinite(least)) continue;
    sum[surface.links[i]] += std::sqrt(least);
    count[surface.links[i]] += 1;
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] = count[i] > 0 ? sum[i] / count[i] : 0.005;
  return sum;
}

/// Hues a golden angle apart, so that neighbours differ.
Vec3d ColorOfLink(std::int64_t link) {
  const double hue = std::fmod(0.6 + 0.381966 * static_cast<double>(link), 1.0);
  Vec3d color{};
  for (int i = 0; i < 3; ++i) {
    const double k = std::fmod(hue * 6 + 5 - 2 * i, 6.0);
    color[i] = 0.92 - 0.6 * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
  }
  return color;
}

struct Bounds {
  double min[2] = {1e300, 1e300};
  double max[2] = {-1e300, -1e300};
};

}  // namespace

RgbImage DrawRobot(const Robot& robot, std::span<const double> joint_values,
                   const PictureOptions& options) {
  const ViewAxes axes = AxesOf(options);
  const PosedSurface posed = PoseSurface(robot, LinkPoses(robot, joint_values));
  const std::vector<double> spacing_m = SpacingOfLinks(robot);
  Bounds bounds;
  for (const Vec3d& p : posed.positions_m) {
    const double at[2] = {Dot(p, axes.right), Dot(p, axes.up)};
    for (int i = 0; i < 2; ++i) {
      bounds.min[i] = std::min(bounds.min[i], at[i]);
      bounds.max[i] = std::max(bounds.max[i], at[i]);
    }
  }
  const double side_m[2] = {std::max(bounds.max[0] - bounds.min[0], 1e-3),
                            std::max(bounds.max[1] - bounds.min[1], 1e-3)};
  const double px_per_m =
      std::min(options.width_px / (kMargin * side_m[0]), options.height_px / (kMargin * side_m[1]));

  RgbImage image{options.width_px, options.height_px, {}};
  image.pixels.assign(std::size_t{3} * options.width_px * options.height_px, 255);
  std::vector<double> nearest_m(std::size_t{1} * options.width_px * options.height_px, -1e300);
  for (std::size_t i = 0; i < posed.positions_m.size(); ++i) {
    const Vec3d& p = posed.positions_m[i];
    const Vec3d& n = posed.normals[i];
    const double normal[3] = {Dot(n, axes.right), Dot(n, axes.up), Dot(n, axes.near)};
    if (std::abs(normal[2]) < 1e-3) continue;
    const double x = options.width_px / 2.0 +
                     px_per_m * (Dot(p, axes.right) - (bounds.min[0] + bounds.max[0]) / 2);
    const double y = options.height_px / 2.0 -
                     px_per_m * (Dot(p, axes.up) - (bounds.min[1] + bounds.max[1]) / 2);
    const double radius_m = kDiscPerSpacing * spacing_m[robot.surface.links[i]];
    const double reach_px = std::max(radius_m * px_per_m, 0.71);
    const double shade = 0.35 + 0.65 * std::abs(normal[2]);
    const Vec3d color = ColorOfLink(robot.surface.links[i]);
    const int x_end = std::min(options.width_px - 1, static_cast<int>(x + reach_px));
    const int y_end = std::min(options.height_px - 1, static_cast<int>(y + reach_px));
    for (int py = std::max(0, static_cast<int>(y - reach_px)); py <= y_end; ++py) {
      for (int px = std::max(0, static_cast<int>(x - reach_px)); px <= x_end; ++px) {
        const double dx = (px + 0.5 - x) / px_per_m, dy = (y - py - 0.5) / px_per_m;
        // On the tangent plane through the point.
        const double dz = -(normal[0] * dx + normal[1] * dy) / normal[2];
        const double reach_m = reach_px / px_per_m;
        if (dx * dx + dy * dy + dz * dz > reach_m * reach_m) continue;
        const double depth_m = Dot(p, axes.near) + dz;
        const std::size_t pixel = std::size_t{1} * py * options.width_px + px;
        if (depth_m <= nearest_m[pixel]) continue;
        nearest_m[pixel] = depth_m;
        for (int c = 0; c < 3; ++c) {
          image.pixels[3 * pixel + c] = static_cast<std::uint8_t>(255 * shade * color[c]);
        }
      }
    }
  }
  return image;
}

}  // namespace interlacer
