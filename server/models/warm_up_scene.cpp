#include "server/models/warm_up_scene.h"

#include <algorithm>
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
  scene.actions = RobotAtRest(metadata, kWarmUpStepCount);
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

/// Input and actions of the episode from `newest_step` on.
StatusOr<WarmUpScene> ReadEpisodeScene(const EpisodeReader& episode, const ModelMetadata& metadata,
                                       int newest_step) {
  SceneInputOptions options = SceneInputOptionsFor(metadata);
  options.newest_step = newest_step;
  WarmUpScene scene;
  scene.newest_step = newest_step;
  INTERLACER_ASSIGN_OR_RETURN(scene.input, MakeSceneInput(episode, options));
  INTERLACER_ASSIGN_OR_RETURN(scene.actions,
                              MakePlannedActions(episode, options, kWarmUpStepCount));
  return scene;
}

StatusOr<Vec3f> ReadVec3f(const JsonObject& entry, const char* key) {
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<double> values, entry.GetNumbers(key, 3));
  return Vec3f{float(values[0]), float(values[1]), float(values[2])};
}

Status ReadPixels(const JsonObject& root, WarmUpScene* scene) {
  if (!root.Has("pixels")) return Status::Ok();
  INTERLACER_ASSIGN_OR_RETURN(scene->color_tolerance, root.Get<double>("color_tolerance"));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> pixels, root.GetObjects("pixels"));
  for (const JsonObject& entry : pixels) {
    WarmUpPixel pixel;
    INTERLACER_ASSIGN_OR_RETURN(pixel.pixel, entry.Get<std::int64_t>("pixel"));
    INTERLACER_ASSIGN_OR_RETURN(pixel.rgb, ReadVec3f(entry, "rgb"));
    scene->pixels.push_back(pixel);
  }
  return Status::Ok();
}

/// Everything but input and actions.
StatusOr<WarmUpScene> ReadExpected(const std::string& path) {
  INTERLACER_ASSIGN_OR_RETURN(const nlohmann::json document,
                              ReadJsonFile(path, reason::CHECKPOINT_INVALID));
  INTERLACER_ASSIGN_OR_RETURN(const JsonObject root,
                              JsonObject::Make(document, "", reason::CHECKPOINT_INVALID));
  INTERLACER_RETURN_IF_ERROR(
      root.AllowOnly({"schema", "schema_version", "newest_step", "tolerance_m", "max_outlier_count",
                      "samples", "color_tolerance", "pixels"}));
  INTERLACER_ASSIGN_OR_RETURN(const std::string schema, root.Get<std::string>("schema"));
  INTERLACER_ASSIGN_OR_RETURN(const int version, root.Get<int>("schema_version"));
  if (schema != kSchema || version != 1) {
    return root.Invalid("schema", std::string(kSchema) + " 1",
                        schema + " " + std::to_string(version));
  }
  WarmUpScene scene;
  INTERLACER_ASSIGN_OR_RETURN(scene.newest_step, root.GetOr<int>("newest_step", 1));
  INTERLACER_ASSIGN_OR_RETURN(scene.tolerance_m, root.Get<double>("tolerance_m"));
  INTERLACER_ASSIGN_OR_RETURN(scene.max_outlier_count, root.Get<int>("max_outlier_count"));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<JsonObject> samples, root.GetObjects("samples"));
  for (const JsonObject& entry : samples) {
    WarmUpSample sample;
    INTERLACER_ASSIGN_OR_RETURN(sample.step, entry.Get<int>("step"));
    INTERLACER_ASSIGN_OR_RETURN(sample.particle, entry.Get<std::int64_t>("particle"));
    INTERLACER_ASSIGN_OR_RETURN(sample.position_m, ReadVec3f(entry, "position_m"));
    scene.expected.push_back(sample);
  }
  INTERLACER_RETURN_IF_ERROR(ReadPixels(root, &scene));
  return scene;
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
  INTERLACER_ASSIGN_OR_RETURN(WarmUpScene stored, ReadExpected(ExpectedPath(checkpoint_dir)));
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(EpisodeDir(checkpoint_dir)));
  INTERLACER_ASSIGN_OR_RETURN(WarmUpScene scene,
                              ReadEpisodeScene(episode, metadata, stored.newest_step));
  stored.input = std::move(scene.input);
  stored.actions = std::move(scene.actions);
  return stored;
}

StatusOr<WarmUpScene> ReadSceneToRecord(const std::string& checkpoint_dir,
                                        const ModelMetadata& metadata) {
  INTERLACER_ASSIGN_OR_RETURN(const EpisodeReader episode,
                              EpisodeReader::Open(EpisodeDir(checkpoint_dir)));
  const int newest_step = std::max(1, episode.step_count() - 1 - kWarmUpStepCount);
  return ReadEpisodeScene(episode, metadata, newest_step);
}

Status WriteExpected(const std::string& checkpoint_dir, const WarmUpScene& scene) {
  nlohmann::ordered_json samples = nlohmann::ordered_json::array();
  for (const WarmUpSample& sample : scene.expected) {
    samples.push_back(
        {{"step", sample.step}, {"particle", sample.particle}, {"position_m", sample.position_m}});
  }
  nlohmann::ordered_json pixels = nlohmann::ordered_json::array();
  for (const WarmUpPixel& pixel : scene.pixels) {
    pixels.push_back({{"pixel", pixel.pixel}, {"rgb", pixel.rgb}});
  }
  return WriteJsonFile(ExpectedPath(checkpoint_dir),
                       {{"schema", kSchema},
                        {"schema_version", 1},
                        {"newest_step", scene.newest_step},
                        {"tolerance_m", scene.tolerance_m},
                        {"max_outlier_count", scene.max_outlier_count},
                        {"samples", std::move(samples)},
                        {"color_tolerance", scene.color_tolerance},
                        {"pixels", std::move(pixels)}});
}

}  // namespace interlacer
