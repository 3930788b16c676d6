#include "evaluation/tracked_particles.h"

#include <cmath>
#include <optional>

#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr int kStandsStill = -1;
/// How far from a pixel's centre and depth its own particle may lie after float32 arithmetic. A
/// particle of another camera meets both by accident about once in a thousand.
constexpr double kPixelTolerance = 0.02;
constexpr double kDepthToleranceM = 5e-4;

double DistanceM(const Vec3d& a, const Vec3d& b) {
  return std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]);
}

Vec3d PointAt(std::span<const float> particles_m, std::size_t particle) {
  const float* p = particles_m.data() + 3 * particle;
  return {p[0], p[1], p[2]};
}

/// The pixel that a particle was lifted from; nothing if that was in another view.
std::optional<std::size_t> SourcePixel(const TrueFrame& frame, const Vec3d& point_m) {
  const ProjectedPixel at = Project(frame.camera, point_m);
  const double u = std::round(at.u_px), v = std::round(at.v_px);
  const bool is_inside =
      at.depth_m > 0 && u >= 0 && v >= 0 && u < frame.depth.width_px && v < frame.depth.height_px;
  if (!is_inside) return std::nullopt;
  const std::size_t pixel =
      static_cast<std::size_t>(v) * frame.depth.width_px + static_cast<std::size_t>(u);
  const bool is_same = std::abs(at.u_px - u) <= kPixelTolerance &&
                       std::abs(at.v_px - v) <= kPixelTolerance &&
                       std::abs(at.depth_m - frame.depth.pixels_m[pixel]) <= kDepthToleranceM;
  return is_same ? std::optional<std::size_t>(pixel) : std::nullopt;
}

struct MeanDistance {
  double sum_m = 0;
  int count = 0;
  void Add(double distance_m) {
    sum_m += distance_m;
    ++count;
  }
  ViewScore Score(std::string_view subject, std::string_view metric) const {
    if (count < kMinTrackedParticles) {
      return {subject, metric, std::nullopt,
              "fewer than " + std::to_string(kMinTrackedParticles) + " particles"};
    }
    return {subject, metric, sum_m / count, ""};
  }
};

}  // namespace

StatusOr<TrackedParticles> TrackedParticles::Start(const SimulationTruth& truth,
                                                   const TargetView& target,
                                                   const TrueFrame& newest, int start_step,
                                                   std::span<const float> particles_m) {
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage mask, truth.ReadLabels(start_step, target.name));
  // As ResizedView does with depth, so that label and depth of a pixel come from one source pixel.
  const DepthImage labels = ResizeNearest(mask, target.width_px, target.height_px);
  TrackedParticles tracked;
  tracked.truth_ = &truth;
  tracked.start_step_ = start_step;
  for (std::size_t i = 0; i < particles_m.size() / 3; ++i) {
    const Vec3d start_m = PointAt(particles_m, i);
    const std::optional<std::size_t> pixel = SourcePixel(newest, start_m);
    if (!pixel) continue;
    const SimulationTruth::PixelTruth shown = truth.Classify(labels.pixels_m[*pixel]);
    if (shown.kind == SimulationTruth::PixelKind::kArm) continue;
    const bool is_object = shown.kind == SimulationTruth::PixelKind::kObject;
    tracked.points_.push_back({i, is_object ? shown.object : kStandsStill, start_m});
  }
  return tracked;
}

std::vector<ViewScore> TrackedParticles::Score(std::span<const float> particles_m,
                                               int episode_step) const {
  std::vector<Transform> motions;
  for (std::size_t k = 0; k < truth_->object_names().size(); ++k) {
    motions.push_back(MotionOf(static_cast<int>(k), episode_step));
  }
  MeanDistance model, model_moving, still, still_moving;
  for (const Point& point : points_) {
    const Vec3d true_m =
        point.object < 0 ? point.start_m
                         : Apply(motions[static_cast<std::size_t>(point.object)], point.start_m);
    const double error_m = DistanceM(PointAt(particles_m, point.particle), true_m);
    const double moved_m = DistanceM(point.start_m, true_m);
    model.Add(error_m);
    still.Add(moved_m);
    if (moved_m < kMovedM) continue;
    model_moving.Add(error_m);
    still_moving.Add(moved_m);
  }
  return {model.Score(kModel, kTracked), model_moving.Score(kModel, kTrackedMoving),
          still.Score(kCopyLast, kTracked), still_moving.Score(kCopyLast, kTrackedMoving)};
}

Transform TrackedParticles::MotionOf(int object, int episode_step) const {
  return Compose(truth_->WorldFromObject(episode_step, object),
                 Inverse(truth_->WorldFromObject(start_step_, object)));
}

ObjectMove TrackedParticles::MoveOf(int object, std::span<const float> particles_m,
                                    int episode_step) const {
  const Transform motion = MotionOf(object, episode_step);
  ObjectMove move;
  for (const Point& point : points_) {
    if (point.object != object) continue;
    ++move.particle_count;
    const Vec3d predicted_m = PointAt(particles_m, point.particle);
    const Vec3d true_m = Apply(motion, point.start_m);
    for (int axis = 0; axis < 3; ++axis) {
      move.predicted_m[axis] += predicted_m[axis] - point.start_m[axis];
      move.true_m[axis] += true_m[axis] - point.start_m[axis];
    }
  }
  for (int axis = 0; axis < 3 && move.particle_count > 0; ++axis) {
    move.predicted_m[axis] /= move.particle_count;
    move.true_m[axis] /= move.particle_count;
  }
  return move;
}

}  // namespace interlacer
