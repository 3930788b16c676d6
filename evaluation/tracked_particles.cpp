#include "evaluation/tracked_particles.h"

#include <cmath>
#include <limits>
#include <optional>

#include "common/transforms.h"

namespace interlacer {
namespace {

/// How far from a pixel's centre and depth its own particle may lie after float32 arithmetic. A
/// particle of another camera meets both by accident about once in a thousand.
constexpr double kPixelTolerance = 0.02;
constexpr double kDepthToleranceM = 5e-4;

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

}  // namespace

ViewScore MeanDistance::Score(std::string_view subject, const std::string& metric) const {
  if (count < kMinTrackedParticles) {
    return {std::string(subject), metric, std::nullopt,
            "fewer than " + std::to_string(kMinTrackedParticles) + " particles"};
  }
  return {std::string(subject), metric, sum_m / count, ""};
}

StatusOr<TrackedParticles> TrackedParticles::Start(
    const SimulationTruth& truth, const BodyMotion& motion, const PredictionTask& task,
    const TargetView& target, const TrueFrame& newest, std::span<const float> particles_m) {
  INTERLACER_ASSIGN_OR_RETURN(const DepthImage mask,
                              truth.ReadLabels(task.start_step, target.name));
  // As ResizedView does with depth, so that label and depth of a pixel come from one source pixel.
  const DepthImage labels = ResizeNearest(mask, target.width_px, target.height_px);
  TrackedParticles tracked;
  tracked.truth_ = &truth;
  tracked.motion_ = &motion;
  tracked.task_ = &task;
  tracked.start_m_.assign(particles_m.begin(), particles_m.end());
  tracked.bodies_.assign(particles_m.size() / 3, kUnknownMotion);
  std::vector<std::size_t> seen;
  std::vector<SimulationTruth::PixelTruth> shown;
  std::vector<float> seen_m;
  for (std::size_t i = 0; i < particles_m.size() / 3; ++i) {
    const std::optional<std::size_t> pixel = SourcePixel(newest, PointAt(particles_m, i));
    if (!pixel) continue;
    seen.push_back(i);
    shown.push_back(truth.Classify(labels.pixels_m[*pixel]));
    seen_m.insert(seen_m.end(), particles_m.begin() + static_cast<std::ptrdiff_t>(3 * i),
                  particles_m.begin() + static_cast<std::ptrdiff_t>(3 * i + 3));
  }
  const std::vector<std::int32_t> bodies = TrueBodies(motion, shown, seen_m);
  for (std::size_t i = 0; i < seen.size(); ++i) tracked.bodies_[seen[i]] = bodies[i];
  return tracked;
}

int TrackedParticles::ObjectOf(std::int32_t body) const {
  const auto first = static_cast<std::int32_t>(motion_->link_count);
  return body >= first ? body - first : kNoObject;
}

std::set<int> TrackedParticles::MovedObjects() const {
  std::set<int> moved;
  for (int step = 1; HasTruth(step); ++step) {
    const std::vector<float> true_m = PositionsAt(*motion_, step, bodies_, start_m_);
    for (std::size_t i = 0; i < bodies_.size(); ++i) {
      const int object = ObjectOf(bodies_[i]);
      if (object == kNoObject || moved.contains(object)) continue;
      if (DistanceM(PointAt(true_m, i), PointAt(start_m_, i)) >= SimulationTruth::kMovedM)
        moved.insert(object);
    }
  }
  return moved;
}

std::vector<ViewScore> TrackedParticles::Score(std::string_view subject,
                                               std::span<const float> particles_m, int step,
                                               const std::set<int>& moved) const {
  if (step == 0 || !HasTruth(step)) return {};
  using Phase = SimulationTruth::ContactPhase;
  const std::vector<float> true_m = PositionsAt(*motion_, step, bodies_, start_m_);
  const std::vector<std::string>& names = truth_->object_names();
  std::vector<MeanDistance> objects(names.size());
  MeanDistance robot, still, still_objects, all_moved, before, touched, after;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (bodies_[i] == kUnknownMotion) continue;
    const double error_m = DistanceM(PointAt(particles_m, i), PointAt(true_m, i));
    const int object = ObjectOf(bodies_[i]);
    if (object == kNoObject) {
      (bodies_[i] == kStandsStill ? still : robot).Add(error_m);
      continue;
    }
    objects[static_cast<std::size_t>(object)].Add(error_m);
    if (!moved.contains(object)) {
      still.Add(error_m);
      still_objects.Add(error_m);
      continue;
    }
    all_moved.Add(error_m);
    const auto phase = truth_->PhaseAt(task_->EpisodeStep(step), object);
    if (phase == Phase::kBefore) before.Add(error_m);
    if (phase == Phase::kTouched) touched.Add(error_m);
    if (phase == Phase::kAfter) after.Add(error_m);
  }
  std::vector<ViewScore> scores;
  const std::pair<std::string_view, const MeanDistance*> named[] = {
      {kL2Moved, &all_moved},    {kL2Static, &still},         {kL2StillObjects, &still_objects},
      {kL2MovedBefore, &before}, {kL2MovedTouched, &touched}, {kL2MovedAfter, &after},
      {kL2Robot, &robot}};
  for (const auto& [metric, mean] : named) {
    scores.push_back(mean->Score(subject, std::string(metric)));
  }
  for (std::size_t k = 0; k < objects.size(); ++k) {
    if (objects[k].count == 0) continue;
    scores.push_back(objects[k].Score(subject, ObjectMetric(names[k])));
  }
  return scores;
}

std::vector<double> TrackedParticles::ErrorsOf(std::span<const float> particles_m, int step) const {
  std::vector<double> errors_m(bodies_.size(), std::numeric_limits<double>::quiet_NaN());
  const std::vector<float> true_m = PositionsAt(*motion_, step, bodies_, start_m_);
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    const bool is_object = ObjectOf(bodies_[i]) != kNoObject;
    if (!is_object && bodies_[i] != kStandsStill) continue;
    errors_m[i] = DistanceM(PointAt(particles_m, i), PointAt(true_m, i));
  }
  return errors_m;
}

ObjectMove TrackedParticles::MoveOf(int object, std::span<const float> particles_m,
                                    int step) const {
  const std::vector<float> true_m = PositionsAt(*motion_, step, bodies_, start_m_);
  ObjectMove move;
  for (std::size_t i = 0; i < bodies_.size(); ++i) {
    if (ObjectOf(bodies_[i]) != object) continue;
    ++move.particle_count;
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double start_m = start_m_[3 * i + axis];
      move.predicted_m[axis] += particles_m[3 * i + axis] - start_m;
      move.true_m[axis] += true_m[3 * i + axis] - start_m;
    }
  }
  for (std::size_t axis = 0; axis < 3 && move.particle_count > 0; ++axis) {
    move.predicted_m[axis] /= move.particle_count;
    move.true_m[axis] /= move.particle_count;
  }
  return move;
}

std::vector<ParticleKind> TrackedParticles::KindsOf(const std::set<int>& moved) const {
  std::vector<ParticleKind> kinds;
  for (const std::int32_t body : bodies_) {
    const int object = ObjectOf(body);
    if (body == kUnknownMotion) {
      kinds.push_back(ParticleKind::kUntracked);
    } else if (object != kNoObject) {
      kinds.push_back(moved.contains(object) ? ParticleKind::kMoved : ParticleKind::kStatic);
    } else {
      kinds.push_back(body == kStandsStill ? ParticleKind::kStatic : ParticleKind::kRobot);
    }
  }
  return kinds;
}

}  // namespace interlacer
