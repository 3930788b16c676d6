#include "server/models/warm_up.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <system_error>
#include <utility>

#include "common/duration.h"
#include "common/json.h"
#include "common/log.h"
#include "common/transforms.h"
#include "data/episode_reader.h"
#include "data/scene_input.h"

namespace interlacer {
namespace {

constexpr char kSchema[] = "interlacer.warmup";
constexpr int kStepCount = 2;
constexpr int kSampleCount = 64;
constexpr double kToleranceM = 0.02;
constexpr int kMaxOutlierCount = 3;
/// Number of rendered rows from which the cost of a view is estimated.
constexpr int kTimedRows = 24;

std::string EpisodeDir(const std::string& checkpoint_dir) {
  return checkpoint_dir + "/warmup/episode";
}

std::string ExpectedPath(const std::string& checkpoint_dir) {
  return checkpoint_dir + "/warmup/expected.json";
}

/// A camera above the middle of the workspace that looks straight down on a chequered plane.
RgbdView PlaneView(const ModelMetadata& metadata, const CameraSpec& spec, std::int64_t time_ns) {
  const Vec3d center = BoxCenter(metadata.workspace);
  const double distance_m = 0.5 * (metadata.near_m + metadata.far_m);
  const std::size_t pixels = std::size_t(spec.width_px) * spec.height_px;
  RgbdView view;
  view.camera_name = spec.name;
  view.capture_time_ns = time_ns;
  view.camera.width_px = spec.width_px;
  view.camera.height_px = spec.height_px;
  // The view is as wide as the shortest half side of the workspace, so that every pixel lies
  // inside.
  double half_side_m = 0.5 * (metadata.workspace.max_m[0] - metadata.workspace.min_m[0]);
  half_side_m =
      std::min(half_side_m, 0.5 * (metadata.workspace.max_m[1] - metadata.workspace.min_m[1]));
  view.camera.fx_px = view.camera.fy_px = distance_m / half_side_m * spec.width_px;
  view.camera.cx_px = 0.5 * (spec.width_px - 1);
  view.camera.cy_px = 0.5 * (spec.height_px - 1);
  view.camera.world_from_camera =
      LookAt({center[0], center[1], center[2] + distance_m}, center, {0, 1, 0});
  view.color = {spec.width_px, spec.height_px, std::vector<std::uint8_t>(3 * pixels)};
  for (std::size_t i = 0; i < pixels; ++i) {
    const std::size_t cell = (i % spec.width_px) / 16 + (i / spec.width_px) / 16;
    std::fill_n(view.color.pixels.begin() + 3 * i, 3, cell % 2 == 0 ? 60 : 190);
  }
  view.depth = {spec.width_px, spec.height_px,
                std::vector<float>(pixels, static_cast<float>(distance_m))};
  return view;
}

/// The robot in the middle of its ranges, at 0 where there are none, or its points in the middle of
/// the workspace, so that a step has the tokens and the cost of a request with a robot.
ActionSequence RobotAtRest(const ModelMetadata& metadata, int row_count) {
  std::vector<float> row;
  ActionSequence robot;
  if (metadata.accepts_joint_positions) {
    robot.kind = ActionKind::kJointPositions;
    for (const ActionColumn& column : metadata.action_columns) {
      const double middle = 0.5 * (column.min_value + column.max_value);
      row.push_back(std::isfinite(middle) ? static_cast<float>(middle) : 0.f);  // no limits
    }
  } else if (metadata.accepts_kinematic_points) {
    robot.kind = ActionKind::kKinematicPoints;
    const Vec3d center = BoxCenter(metadata.workspace);
    for (std::size_t point = 0; point < metadata.kinematic_point_names.size(); ++point) {
      row.insert(row.end(), center.begin(), center.end());
    }
  } else {
    return robot;
  }
  robot.row_count = row_count;
  robot.column_count = static_cast<std::int64_t>(row.size());
  for (int i = 0; i < row_count; ++i) {
    robot.values.insert(robot.values.end(), row.begin(), row.end());
  }
  return robot;
}

WarmUpScene MakePlaneScene(const ModelMetadata& metadata) {
  WarmUpScene scene;
  scene.input.history_actions = RobotAtRest(metadata, metadata.history_step_count);
  scene.actions = RobotAtRest(metadata, kStepCount);
  for (int o = 0; o < metadata.history_step_count; ++o) {
    const auto time_ns =
        static_cast<std::int64_t>(o * metadata.step_duration_s * kNanosecondsPerSecond);
    Observation observation;
    for (const CameraSpec& spec : metadata.cameras) {
      observation.views.push_back(PlaneView(metadata, spec, time_ns));
    }
    scene.input.observations.push_back(std::move(observation));
  }
  return scene;
}

StatusOr<WarmUpScene> ReadEpisodeScene(const std::string& checkpoint_dir,
                                       const ModelMetadata& metadata) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(EpisodeDir(checkpoint_dir)));
  const SceneInputOptions options = SceneInputOptionsFor(metadata);
  WarmUpScene scene;
  INTERLACER_ASSIGN_OR_RETURN(scene.input, MakeSceneInput(episode, options));
  INTERLACER_ASSIGN_OR_RETURN(scene.actions, MakePlannedActions(episode, options, kStepCount));
  return scene;
}

Status ReadExpected(const std::string& path, WarmUpScene* scene) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ReadJsonFile(path, reason::CHECKPOINT_INVALID));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root,
                              JsonObject::Make(document, "", reason::CHECKPOINT_INVALID));
  INTERLACER_RETURN_IF_ERROR(
      root.AllowOnly({"schema", "schema_version", "tolerance_m", "max_outlier_count", "samples"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, root.Get<std::string>("schema"));
  INTERLACER_ASSIGN_OR_RETURN(const int version, root.Get<int>("schema_version"));
  if (schema != kSchema || version != 1) {
    return root.Invalid("schema", std::string(kSchema) + " 1",
                        schema + " " + std::to_string(version));
  }
  INTERLACER_ASSIGN_OR_RETURN(scene->tolerance_m, root.Get<double>("tolerance_m"));
  INTERLACER_ASSIGN_OR_RETURN(scene->max_outlier_count, root.Get<int>("max_outlier_count"));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> samples, root.GetObjects("samples"));
  for (const JsonObject& entry : samples) {
    WarmUpSample sample;
    INTERLACER_ASSIGN_OR_RETURN(sample.step, entry.Get<int>("step"));
    INTERLACER_ASSIGN_OR_RETURN(sample.particle, entry.Get<std::int64_t>("particle"));
    INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> p, entry.GetNumbers("position_m", 3));
    for (int axis = 0; axis < 3; ++axis) sample.position_m[axis] = static_cast<float>(p[axis]);
    scene->expected.push_back(sample);
  }
  return Status::Ok();
}

Status CheckStop(std::stop_token stop) {
  return stop.stop_requested() ? Cancelled("warm-up was stopped") : Status::Ok();
}

/// Seconds of a 320x240 view of the field, estimated from a few rows in the middle of the first
/// camera's view.
StatusOr<double> TimeView(const Rollout& rollout, const Camera& camera) {
  const int row_begin = std::max(0, (camera.height_px - kTimedRows) / 2);
  const int row_end = std::min(camera.height_px, row_begin + kTimedRows);
  FloatImage color;
  DepthImage depth;
  const auto start = std::chrono::steady_clock::now();
  INTERLACER_RETURN_IF_ERROR(rollout.RenderRows(camera, row_begin, row_end, RenderMode::kField,
                                                /*needs_depth=*/true, &color, &depth));
  return SecondsSince(start) * kReferenceViewPx / (double(row_end - row_begin) * camera.width_px);
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

}  // namespace

StatusOr<WarmUpScene> ReadWarmUpScene(const std::string& checkpoint_dir,
                                      const ModelMetadata& metadata) {
  std::error_code error;
  if (!std::filesystem::exists(checkpoint_dir + "/warmup", error) && !error) {
    Log(LogLevel::kWarning, "the checkpoint has no warm-up scene; nothing is compared",
        {{"model", metadata.model_name}});
    return MakePlaneScene(metadata);
  }
  WarmUpScene stored;
  INTERLACER_RETURN_IF_ERROR(ReadExpected(ExpectedPath(checkpoint_dir), &stored));
  INTERLACER_ASSIGN_OR_RETURN(WarmUpScene scene, ReadEpisodeScene(checkpoint_dir, metadata));
  stored.input = std::move(scene.input);
  stored.actions = std::move(scene.actions);
  return stored;
}

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
  for (int s = 0; s < kStepCount; ++s) {
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
  INTERLACER_ASSIGN_OR_RETURN(result.render_cost_s, TimeView(*rollout, camera));
  INTERLACER_ASSIGN_OR_RETURN(result.carry_cost_s, TimeCarrying(*rollout, camera));
  if (const std::optional<DeviceMemory> after = predictor->ReadMemory(); before && after) {
    result.memory = {std::max<std::int64_t>(0, after->held_bytes - before->held_bytes),
                     std::max<std::int64_t>(0, after->peak_bytes - before->held_bytes),
                     lifted->size_bytes(), before->free_bytes, before->total_bytes};
  }
  return result;
}

Status CheckWarmUp(const WarmUpScene& scene, const WarmUpResult& result) {
  int outlier_count = 0;
  double largest_error_m = 0;
  for (const WarmUpSample& sample : scene.expected) {
    if (sample.step < 1 || sample.step > static_cast<int>(result.steps.size()) ||
        sample.particle < 0 || sample.particle >= result.steps[sample.step - 1].count) {
      return Mismatched("expected.json names a particle or step that does not exist");
    }
    const float* p = result.steps[sample.step - 1].positions_m.data() + 3 * sample.particle;
    // A sum preserves NaN, which a maximum would drop.
    double sq_error_m2 = 0;
    for (int axis = 0; axis < 3; ++axis) {
      const double difference_m = double{p[axis]} - sample.position_m[axis];
      sq_error_m2 += difference_m * difference_m;
    }
    const double error_m = std::sqrt(sq_error_m2);
    if (!(error_m <= scene.tolerance_m)) ++outlier_count;
    largest_error_m = std::max(largest_error_m, error_m);
  }
  if (outlier_count <= scene.max_outlier_count) return Status::Ok();
  return Mismatched(std::to_string(outlier_count) + " of " + std::to_string(scene.expected.size()) +
                    " positions differ from the stored ones by more than " +
                    std::to_string(scene.tolerance_m) + " m, at most by " +
                    std::to_string(largest_error_m) + " m");
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

Status RecordWarmUp(const std::string& checkpoint_dir, Predictor* predictor) {
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpScene scene,
                              ReadEpisodeScene(checkpoint_dir, predictor->metadata()));
  INTERLACER_ASSIGN_OR_RETURN(const WarmUpResult result, RunWarmUp(scene, {}, predictor));
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (int i = 0; i < kSampleCount; ++i) {
    const int step = 1 + i % kStepCount;
    const Particles& particles = result.steps[step - 1];
    const std::int64_t particle = particles.count * i / kSampleCount;
    const float* p = particles.positions_m.data() + 3 * particle;
    samples.push_back({{"step", step}, {"particle", particle}, {"position_m", {p[0], p[1], p[2]}}});
  }
  return WriteJsonFile(ExpectedPath(checkpoint_dir), {{"schema", kSchema},
                                                      {"schema_version", 1},
                                                      {"tolerance_m", kToleranceM},
                                                      {"max_outlier_count", kMaxOutlierCount},
                                                      {"samples", std::move(samples)}});
}

}  // namespace interlacer
