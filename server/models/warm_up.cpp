#include "server/models/warm_up.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <utility>

#include "common/duration.h"

namespace interlacer {
namespace {

/// Number of rendered rows from which the cost of a view is estimated.
constexpr int kTimedRows = 24;

constexpr int kSampleCount = 64;
constexpr int kMovedSampleCount = 32;
constexpr int kPixelCount = 32;
/// Between bfloat16 and float32 the particles of `small` differ by up to 0.4 mm where its network
/// alone moves them, but for the few whose neighbours change, and those of the shipped models,
/// which take most of what the rule of contact says, by 3 um.
constexpr double kToleranceM = 0.001;
constexpr double kColorTolerance = 0.1;
constexpr int kMaxOutlierCount = 6;
/// From where the network has left a particle, one that does not move it is far beyond the
/// tolerance.
constexpr double kMovedM = 3 * kToleranceM;

Status CheckStop(std::stop_token stop) {
  return stop.stop_requested() ? Cancelled("warm-up was stopped") : Status::Ok();
}

/// Seconds of a 320x240 view of the field, estimated from a few rows in the middle of the first
/// camera's view, whose colours are kept.
StatusOr<double> TimeView(const Rollout& rollout, const Camera& camera,
                          std::vector<float>* colors) {
  const int row_begin = std::max(0, (camera.height_px - kTimedRows) / 2);
  const int row_end = std::min(camera.height_px, row_begin + kTimedRows);
  FloatImage color;
  DepthImage depth;
  const auto start = std::chrono::steady_clock::now();
  INTERLACER_RETURN_IF_ERROR(rollout.RenderRows(camera, row_begin, row_end, RenderMode::kField,
                                                /*needs_depth=*/true, &color, &depth));
  const double cost_s =
      SecondsSince(start) * kReferenceViewPx / (double(row_end - row_begin) * camera.width_px);
  *colors = std::move(color.pixels);
  return cost_s;
}

/// Seconds to carry the observed pixels into a view, the first one of a scene; no row is drawn.
StatusOr<double> TimeCarrying(const Rollout& rollout, const Camera& camera) {
  FloatImage color;
  DepthImage depth;
  const auto start = std::chrono::steady_clock::now();
  INTERLACER_RETURN_IF_ERROR(rollout.RenderRows(camera, 0, 0, RenderMode::kObserved,
                                                /*needs_depth=*/true, &color, &depth));
  return SecondsSince(start);
}

Status Mismatched(const std::string& message) {
  return FailedPrecondition(reason::MODEL_LOAD_FAILED, "warm-up: " + message);
}

Vec3f Row(const std::vector<float>& rows, std::int64_t row) {
  const float* p = rows.data() + 3 * row;
  return {p[0], p[1], p[2]};
}

double Difference(const Vec3f& a, const Vec3f& b) {
  // A sum preserves NaN, which a maximum would drop.
  double sq_sum = 0;
  for (int i = 0; i < 3; ++i) {
    const double difference = double{a[i]} - b[i];
    sq_sum += difference * difference;
  }
  return std::sqrt(sq_sum);
}

/// Of values of this run from stored ones.
struct Differences {
  double tolerance = 0;
  double largest = 0;
  int count = 0, outlier_count = 0;

  void Add(double difference) {
    ++count;
    if (!(difference <= tolerance)) ++outlier_count;
    largest = std::max(largest, difference);
  }
  Status Check(const std::string& what, const std::string& unit, int max_outlier_count) const {
    if (outlier_count <= max_outlier_count) return Status::Ok();
    return Mismatched(std::to_string(outlier_count) + " of " + std::to_string(count) + " " + what +
                      " differ from the stored ones by more than " + std::to_string(tolerance) +
                      unit + ", at most by " + std::to_string(largest) + unit);
  }
};

/// Positions after the same steps with the network not asked: particles of the robot move with its
/// links, where something describes them, and all others stay.
StatusOr<std::vector<Particles>> StepsWithoutNetwork(const WarmUpScene& scene,
                                                     Predictor* predictor) {
  INTERLACER_ASSIGN_OR_RETURN(const std::shared_ptr<const Scene> lifted,
                              predictor->Lift(scene.input));
  auto rollout = predictor->Begin(lifted, scene.actions, MotionSource::kRobotOnly);
  const bool has_links = rollout.ok();
  if (!has_links) rollout = predictor->Begin(lifted, scene.actions);
  INTERLACER_RETURN_IF_ERROR(rollout.status());
  std::vector<Particles> steps;
  for (int s = 0; s < kWarmUpStepCount; ++s) {
    if (has_links) {
      INTERLACER_RETURN_IF_ERROR((*rollout)->Step());
    }
    INTERLACER_ASSIGN_OR_RETURN(const Particles* particles, (*rollout)->ReadParticles());
    steps.push_back(*particles);
  }
  return steps;
}

/// The particles that the network has moved away from where they would be without it.
std::vector<WarmUpSample> MovedSamples(const std::vector<Particles>& steps,
                                       const std::vector<Particles>& without_network) {
  std::vector<WarmUpSample> moved;
  for (int s = 0; s < kWarmUpStepCount; ++s) {
    for (std::int64_t i = 0; i < steps[s].count; ++i) {
      const Vec3f position_m = Row(steps[s].positions_m, i);
      if (Difference(position_m, Row(without_network[s].positions_m, i)) > kMovedM) {
        moved.push_back({s + 1, i, position_m});
      }
    }
  }
  return moved;
}

}  // namespace

StatusOr<WarmUpResult> RunWarmUp(const WarmUpScene& scene, std::stop_token stop,
                                 Predictor* predictor) {
  WarmUpResult result;
  predictor->ResetPeakMemory();
  const std::optional<DeviceMemory> before = predictor->ReadMemory();
  auto start = std::chrono::steady_clock::now();
  INTERLACER_ASSIGN_OR_RETURN(const std::shared_ptr<const Scene> lifted,
                              predictor->Lift(scene.input));
  result.ingest_cost_s = SecondsSince(start);
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<Rollout> rollout,
                              predictor->Begin(lifted, scene.actions));
  for (int s = 0; s < kWarmUpStepCount; ++s) {
    INTERLACER_RETURN_IF_ERROR(CheckStop(stop));
    start = std::chrono::steady_clock::now();
    INTERLACER_RETURN_IF_ERROR(rollout->Step());
    // Only the last step is timed: the first one also allocates buffers.
    if (rollout->asks_network()) result.step_cost_s = SecondsSince(start);
    INTERLACER_ASSIGN_OR_RETURN(const Particles* particles, rollout->ReadParticles());
    result.steps.push_back(*particles);
  }
  INTERLACER_RETURN_IF_ERROR(CheckStop(stop));
  const std::string& camera_name = scene.input.observations.back().views.front().camera_name;
  INTERLACER_ASSIGN_OR_RETURN(const Camera camera, rollout->SceneCamera(camera_name));
  INTERLACER_ASSIGN_OR_RETURN(result.render_cost_s, TimeView(*rollout, camera, &result.colors));
  INTERLACER_ASSIGN_OR_RETURN(result.carry_cost_s, TimeCarrying(*rollout, camera));
  if (const std::optional<DeviceMemory> after = predictor->ReadMemory(); before && after) {
    result.memory = {std::max<std::int64_t>(0, after->held_bytes - before->held_bytes),
                     std::max<std::int64_t>(0, after->peak_bytes - before->held_bytes),
                     lifted->size_bytes(), before->free_bytes, before->total_bytes};
  }
  return result;
}

Status CheckWarmUp(const WarmUpScene& scene, const WarmUpResult& result) {
  Differences positions{scene.tolerance_m};
  for (const WarmUpSample& sample : scene.expected) {
    if (sample.step < 1 || sample.step > static_cast<int>(result.steps.size()) ||
        sample.particle < 0 || sample.particle >= result.steps[sample.step - 1].count) {
      return Mismatched("expected.json names a particle or step that does not exist");
    }
    const Particles& particles = result.steps[sample.step - 1];
    positions.Add(Difference(Row(particles.positions_m, sample.particle), sample.position_m));
  }
  INTERLACER_RETURN_IF_ERROR(positions.Check("positions", " m", scene.max_outlier_count));
  Differences colors{scene.color_tolerance};
  for (const WarmUpPixel& pixel : scene.pixels) {
    if (pixel.pixel < 0 || pixel.pixel >= std::ssize(result.colors) / 3) {
      return Mismatched("expected.json names a pixel that was not drawn");
    }
    colors.Add(Difference(Row(result.colors, pixel.pixel), pixel.rgb));
  }
  return colors.Check("colours of the radiance field", "", scene.max_outlier_count);
}

Status WarmUp(const std::string& checkpoint_dir, std::stop_token stop, ServedModel* model) {
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpScene scene,
                              ReadWarmUpScene(checkpoint_dir, model->metadata));
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpResult result,
                              RunWarmUp(scene, stop, model->predictor.get()));
  model->metadata.ingest_cost_s = result.ingest_cost_s;
  model->metadata.step_cost_s = result.step_cost_s;
  model->metadata.render_cost_s = result.render_cost_s;
  model->metadata.carry_cost_s = result.carry_cost_s;
  model->memory = result.memory;
  return CheckWarmUp(scene, result);
}

StatusOr<RecordedWarmUp> RecordWarmUp(const std::string& checkpoint_dir, Predictor* predictor) {
  INTERLACER_ASSIGN_OR_RETURN(WarmUpScene scene,
                              ReadSceneToRecord(checkpoint_dir, predictor->metadata()));
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpResult result, RunWarmUp(scene, {}, predictor));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<Particles> without_network,
                              StepsWithoutNetwork(scene, predictor));
  const std::vector<WarmUpSample> moved = MovedSamples(result.steps, without_network);
  const int moved_count = std::min<int>(kMovedSampleCount, static_cast<int>(moved.size()));
  for (int i = 0; i < moved_count; ++i) {
    scene.expected.push_back(moved[moved.size() * i / moved_count]);
  }
  const int other_count = kSampleCount - moved_count;
  for (int i = 0; i < other_count; ++i) {
    const int step = 1 + i % kWarmUpStepCount;
    const Particles& particles = result.steps[step - 1];
    const std::int64_t particle = particles.count * i / other_count;
    scene.expected.push_back({step, particle, Row(particles.positions_m, particle)});
  }
  for (int i = 0; i < kPixelCount; ++i) {
    const std::int64_t pixel = std::ssize(result.colors) / 3 * i / kPixelCount;
    scene.pixels.push_back({pixel, Row(result.colors, pixel)});
  }
  scene.tolerance_m = kToleranceM;
  scene.color_tolerance = kColorTolerance;
  scene.max_outlier_count = kMaxOutlierCount;
  INTERLACER_RETURN_IF_ERROR(WriteExpected(checkpoint_dir, scene));
  return RecordedWarmUp{kSampleCount, moved_count};
}

}  // namespace interlacer
