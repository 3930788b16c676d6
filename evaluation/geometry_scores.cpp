#include "evaluation/geometry_scores.h"

#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "common/thread_pool.h"
#include "render/image_metrics.h"
#include "robots/nearest_point.h"

namespace interlacer {
namespace {

/// How far behind the nearest particle of its pixel a particle still counts as seen: discs of the
/// z-buffer lie flat while surfaces slope.
constexpr double kSeenBehindM = 0.02;
constexpr std::int64_t kQueryGrain = 1024;

/// The depth image with NaN wherever its point lies outside the workspace.
StatusOr<DepthImage> CroppedDepth(const Camera& camera, DepthImage depth, const Box& workspace) {
  INTERLACER_ASSIGN_OR_RETURN(const PixelMask mask, WorkspaceMask(camera, depth, workspace));
  for (std::size_t i = 0; i < depth.pixels_m.size(); ++i) {
    if (mask.pixels[i] == 0) depth.pixels_m[i] = std::numeric_limits<float>::quiet_NaN();
  }
  return depth;
}

std::vector<float> PointsOf(const Camera& camera, const DepthImage& depth) {
  std::vector<float> points_m;
  for (int row = 0; row < depth.height_px; ++row) {
    for (int column = 0; column < depth.width_px; ++column) {
      const float z = depth.pixels_m[static_cast<std::size_t>(row) * depth.width_px + column];
      if (!std::isfinite(z) || z <= 0) continue;
      for (const double x : Unproject(camera, column, row, z)) {
        points_m.push_back(static_cast<float>(x));
      }
    }
  }
  return points_m;
}

std::vector<float> SeenParticles(std::span<const float> particles_m, const Camera& camera,
                                 const DepthImage& z_buffer) {
  std::vector<float> seen_m;
  for (std::size_t i = 0; i < particles_m.size(); i += 3) {
    const ProjectedPixel at =
        Project(camera, {particles_m[i], particles_m[i + 1], particles_m[i + 2]});
    const double u = std::round(at.u_px), v = std::round(at.v_px);
    const bool is_inside =
        at.depth_m > 0 && u >= 0 && v >= 0 && u < z_buffer.width_px && v < z_buffer.height_px;
    if (!is_inside) continue;
    const std::size_t pixel =
        static_cast<std::size_t>(v) * z_buffer.width_px + static_cast<std::size_t>(u);
    if (!(at.depth_m <= z_buffer.pixels_m[pixel] + kSeenBehindM)) continue;
    seen_m.insert(seen_m.end(), particles_m.begin() + static_cast<std::ptrdiff_t>(i),
                  particles_m.begin() + static_cast<std::ptrdiff_t>(i + 3));
  }
  return seen_m;
}

double MeanDistanceM(std::span<const float> from_m, const NearestPoint& to) {
  std::vector<double> distances_m(from_m.size() / 3);
  ParallelFor(
      static_cast<std::int64_t>(distances_m.size()), kQueryGrain,
      [&](std::int64_t begin, std::int64_t end) {
        for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
          distances_m[i] = to.DistanceM({from_m[3 * i], from_m[3 * i + 1], from_m[3 * i + 2]});
        }
      });
  double sum_m = 0;
  for (const double distance_m : distances_m) sum_m += distance_m;
  return sum_m / static_cast<double>(distances_m.size());
}

double HalfSumM(std::span<const float> a_m, const NearestPoint& a, std::span<const float> b_m,
                const NearestPoint& b) {
  return 0.5 * (MeanDistanceM(a_m, b) + MeanDistanceM(b_m, a));
}

void Add(std::string_view subject, std::string_view metric, const std::optional<double>& value,
         const char* reason, std::vector<ViewScore>* scores) {
  scores->push_back({std::string(subject), std::string(metric), value, value ? "" : reason});
}

}  // namespace

StatusOr<std::vector<ViewScore>> ScoreGeometry(std::span<const SubjectView> subjects,
                                               std::span<const SubjectParticles> particles,
                                               const TrueFrame& truth, const Box& workspace) {
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage depth,
                              CroppedDepth(truth.camera, truth.depth, workspace));
  const std::vector<float> true_points_m = PointsOf(truth.camera, depth);
  std::optional<NearestPoint> true_index;
  if (!true_points_m.empty()) true_index.emplace(true_points_m);
  std::vector<ViewScore> scores;
  for (const SubjectView& view : subjects) {
    if (view.depth == nullptr) continue;
    INTERLACER_ASSIGN_OR_RETURN(const std::optional<double> error, DepthAbsMV1(*view.depth, depth));
    Add(view.subject, kDepthAbs, error, "no pixel with both depths", &scores);
  }
  for (const SubjectParticles& part : particles) {
    const std::vector<float> seen_m = SeenParticles(part.positions_m, truth.camera, *part.z_buffer);
    std::optional<double> chamfer;
    if (true_index && !seen_m.empty()) {
      chamfer = HalfSumM(seen_m, NearestPoint(seen_m), true_points_m, *true_index);
    }
    Add(part.subject, kChamferHalf, chamfer, "no particle or no true point in view", &scores);
  }
  return scores;
}

}  // namespace interlacer
