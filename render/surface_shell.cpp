#include "render/surface_shell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "common/thread_pool.h"
#include "common/transforms.h"
#include "render/draw_discs.h"

namespace interlacer {
namespace {

/// The way to the nearest points of a piece: the mean of so many.
constexpr std::size_t kAround = 4;
/// Steps of a disc as a share of that way: discs of points that lie unevenly must meet.
constexpr double kStepShare = 1.1;
/// Pixels within so many steps of a point give it its colour.
constexpr double kColorReach = 1;
/// Largest disc in a picture; a camera nearer than this makes sense of sees holes.
constexpr double kMaxStepPx = 32;
/// What is drawn lies clearly behind the shell from here on: half of a chord between its points,
/// calibration and noise are less.
constexpr float kBehindM = 0.02f;
/// The shell reaches beyond the edges of a piece where it covers less.
constexpr float kWhole = 1;

double SquaredDistance(const Vec3d& a, const Vec3d& b) {
  double sum = 0;
  for (std::size_t axis = 0; axis < 3; ++axis) sum += (a[axis] - b[axis]) * (a[axis] - b[axis]);
  return sum;
}

/// Metres from each of a piece's points to the ones around it.
std::vector<double> StepsOf(const std::vector<Vec3d>& points_m) {
  std::vector<double> steps_m;
  for (std::size_t i = 0; i < points_m.size(); ++i) {
    std::vector<double> sq_m2;
    for (std::size_t k = 0; k < points_m.size(); ++k) {
      if (k != i) sq_m2.push_back(SquaredDistance(points_m[i], points_m[k]));
    }
    const std::size_t count = std::min(kAround, sq_m2.size());
    std::partial_sort(sq_m2.begin(), sq_m2.begin() + static_cast<std::ptrdiff_t>(count),
                      sq_m2.end());
    double sum_m = 0;
    for (std::size_t k = 0; k < count; ++k) sum_m += std::sqrt(sq_m2[k]);
    steps_m.push_back(count > 0 ? kStepShare * sum_m / static_cast<double>(count) : 0);
  }
  return steps_m;
}

/// Two unit vectors across a unit vector and each other; their cross product is it.
std::array<Vec3d, 2> Across(const Vec3d& n) {
  const Vec3d helper = std::abs(n[0]) < 0.6 ? Vec3d{1, 0, 0} : Vec3d{0, 1, 0};
  Vec3d a{n[1] * helper[2] - n[2] * helper[1], n[2] * helper[0] - n[0] * helper[2],
          n[0] * helper[1] - n[1] * helper[0]};
  const double length = std::sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
  for (double& x : a) x /= length;
  return {a, {n[1] * a[2] - n[2] * a[1], n[2] * a[0] - n[0] * a[2], n[0] * a[1] - n[1] * a[0]}};
}

Vec3d Rotated(const Transform& a_from_b, const Vec3d& vector) {
  return Apply({{0, 0, 0}, a_from_b.rotation_xyzw}, vector);
}

/// How a step of `along` changes the picture of a point.
SurfelPixel StepAlong(const DiscView& view, const Vec3d& at_m, const Vec3d& along, double step_m) {
  float ends_m[2][3];
  for (std::size_t axis = 0; axis < 3; ++axis) {
    ends_m[0][axis] = static_cast<float>(at_m[axis] - 0.5 * step_m * along[axis]);
    ends_m[1][axis] = static_cast<float>(at_m[axis] + 0.5 * step_m * along[axis]);
  }
  const SurfelPixel from = ProjectSurfel(view, ends_m[0]), to = ProjectSurfel(view, ends_m[1]);
  if (from.depth_m == 0 || to.depth_m == 0) return {};
  return {to.u_px - from.u_px, to.v_px - from.v_px, to.depth_m - from.depth_m};
}

}  // namespace

SurfaceShell SurfaceShell::Make(const ShellPoints& points, std::span<const Transform> start,
                                const ObservedRenderer& seen,
                                std::span<const std::int32_t> pixel_pieces) {
  SurfaceShell shell;
  shell.start_.assign(start.begin(), start.end());
  std::vector<std::vector<std::size_t>> points_of(start.size()), pixels_of(start.size());
  for (std::size_t i = 0; i < points.pieces.size(); ++i) {
    points_of[static_cast<std::size_t>(points.pieces[i])].push_back(i);
  }
  for (std::size_t i = 0; i < pixel_pieces.size(); ++i) {
    if (pixel_pieces[i] >= 0) pixels_of[static_cast<std::size_t>(pixel_pieces[i])].push_back(i);
  }
  std::vector<std::uint8_t> has_color;
  std::vector<Vec3d> world_m;
  for (std::size_t piece = 0; piece < start.size(); ++piece) {
    const auto vector_of = [](const Vec3f& v) { return Vec3d{v[0], v[1], v[2]}; };
    std::vector<Vec3d> places_m;
    for (const std::size_t i : points_of[piece]) {
      places_m.push_back(vector_of(points.positions_m[i]));
    }
    const std::vector<double> steps_m = StepsOf(places_m);
    for (std::size_t k = 0; k < places_m.size(); ++k) {
      Point point{
          places_m[k], vector_of(points.normals[points_of[piece][k]]), piece, steps_m[k], {}};
      world_m.push_back(Apply(start[piece], point.position_m));
      const double reach_m = kColorReach * point.step_m;
      double sum[3] = {0, 0, 0};
      std::int64_t count = 0;
      for (const std::size_t pixel : pixels_of[piece]) {
        const float* p = seen.positions_m().data() + 3 * pixel;
        if (SquaredDistance(world_m.back(), {p[0], p[1], p[2]}) > reach_m * reach_m) continue;
        for (std::size_t c = 0; c < 3; ++c) sum[c] += seen.rgb()[3 * pixel + c];
        ++count;
      }
      for (std::size_t c = 0; count > 0 && c < 3; ++c) {
        point.rgb[c] = static_cast<std::uint8_t>(sum[c] / static_cast<double>(count) + 0.5);
      }
      has_color.push_back(count > 0);
      shell.points_.push_back(point);
    }
  }
  // Colours of what nobody saw.
  const std::vector<Point> seen_points = shell.points_;
  ParallelFor(static_cast<std::int64_t>(shell.points_.size()), 64,
              [&](std::int64_t begin, std::int64_t end) {
                for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end);
                     ++i) {
                  if (has_color[i]) continue;
                  Point& point = shell.points_[i];
                  std::pair<bool, double> best{true, std::numeric_limits<double>::infinity()};
                  for (std::size_t k = 0; k < seen_points.size(); ++k) {
                    if (!has_color[k]) continue;
                    const std::pair near(seen_points[k].piece != point.piece,
                                         SquaredDistance(world_m[i], world_m[k]));
                    if (near >= best) continue;
                    best = near;
                    std::copy_n(seen_points[k].rgb, 3, point.rgb);
                  }
                }
              });
  if (std::find(has_color.begin(), has_color.end(), 1) == has_color.end()) shell.points_.clear();
  return shell;
}

StatusOr<ObservedPicture> SurfaceShell::Render(const Camera& camera,
                                               std::span<const Transform> now) const {
  INTERLACER_RETURN_IF_ERROR(ValidateCamera(camera));
  ObservedOptions options;
  options.max_step_px = kMaxStepPx;
  const DiscView view = DiscViewOf(camera, options);
  const Vec3d& eye_m = camera.world_from_camera.translation_m;
  std::vector<Disc> discs;
  for (const Point& point : points_) {
    const Transform& pose = now[point.piece];
    if (pose == start_[point.piece]) continue;
    const Vec3d at_m = Apply(pose, point.position_m), normal = Rotated(pose, point.normal);
    double facing = 0;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      facing += normal[axis] * (eye_m[axis] - at_m[axis]);
    }
    if (facing <= 0) continue;
    const float place_m[3] = {static_cast<float>(at_m[0]), static_cast<float>(at_m[1]),
                              static_cast<float>(at_m[2])};
    const SurfelPixel at = ProjectSurfel(view, place_m);
    if (at.depth_m == 0) continue;
    const std::array<Vec3d, 2> across = Across(normal);
    const SurfelPixel a = StepAlong(view, at_m, across[0], point.step_m);
    const SurfelPixel b = StepAlong(view, at_m, across[1], point.step_m);
    const Disc disc = DiscOf(view, at, a, b, point.rgb, true);
    if (disc.depth_m > 0) discs.push_back(disc);
  }
  const std::size_t pixel_count = static_cast<std::size_t>(camera.width_px) * camera.height_px;
  return DrawDiscs(view, discs, std::vector<std::uint8_t>(pixel_count, 0));
}

Status SurfaceShell::FillGaps(const Camera& camera, std::span<const Transform> now,
                              ObservedPicture* picture) const {
  if (points_.empty() || std::ranges::equal(now, start_)) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(const ObservedPicture shell, Render(camera, now));
  for (std::size_t i = 0; i < shell.coverage.size(); ++i) {
    const float shell_m = shell.depth.pixels_m[i];
    if (shell.coverage[i] < kWhole || !(shell_m > 0)) continue;
    float& covered = picture->coverage[i];
    float& depth_m = picture->depth.pixels_m[i];
    const bool is_gap = covered < kFullCoverage;
    // NaN, where a pixel keeps a colour without depth, compares false.
    const bool is_behind = depth_m > shell_m + kBehindM;
    if (!is_gap && !is_behind) continue;
    const float share = is_behind ? 0 : covered;
    for (std::size_t c = 3 * i; c < 3 * i + 3; ++c) {
      float& value = picture->color.pixels[c];
      value = share * value + (1 - share) * shell.color.pixels[c];
    }
    covered = 1;
    depth_m = shell_m;
  }
  return Status::Ok();
}

}  // namespace interlacer
