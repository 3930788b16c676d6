#include "data/scene_input.h"

#include <algorithm>
#include <limits>

#include "common/duration.h"
#include "data/episode_joints.h"

namespace interlacer {
namespace {

/// Only differences of times count; the oldest observation is put here, because 0 reads as absent.
constexpr std::int64_t kFirstTimeNs = kNanosecondsPerSecond;

StatusOr<std::vector<int>> ChooseCameras(const EpisodeReader& episode,
                                         const SceneInputOptions& options) {
  const auto& names =
      options.episode_cameras.empty() ? options.model_cameras : options.episode_cameras;
  if (names.size() != options.model_cameras.size()) {
    return Mismatch(reason::CAMERA_MISSING, "cameras",
                    std::to_string(options.model_cameras.size()) + " names",
                    std::to_string(names.size()));
  }
  std::vector<int> cameras;
  for (const std::string& name : names) {
    const auto camera = episode.FindCamera(name);
    if (!camera) {
      const std::string first = episode.manifest().cameras.front().name;
      const std::string last = episode.manifest().cameras.back().name;
      return Mismatch(reason::CAMERA_UNKNOWN, "cameras",
                      "names of the episode's " + std::to_string(episode.camera_count()) +
                          " cameras (" + first + " ... " + last + ")",
                      name);
    }
    if (std::find(cameras.begin(), cameras.end(), *camera) != cameras.end()) {
      return Mismatch(reason::CAMERA_DUPLICATE, "cameras", "different cameras", name + " twice");
    }
    cameras.push_back(*camera);
  }
  return cameras;
}

Status CheckSteps(const EpisodeReader& episode, const SceneInputOptions& options) {
  const bool is_static = episode.manifest().kind == EpisodeKind::kStaticViews;
  const int first = is_static ? 0 : options.stride;
  if (options.stride < 1) {
    return Mismatch(reason::STEP_INVALID, "stride", "at least 1", std::to_string(options.stride));
  }
  if (!is_static && (options.newest_step < first || options.newest_step >= episode.step_count())) {
    return Mismatch(reason::STEP_INVALID, "newest_step",
                    std::to_string(first) + " to " + std::to_string(episode.step_count() - 1),
                    std::to_string(options.newest_step));
  }
  return Status::Ok();
}

StatusOr<Observation> ReadObservation(const EpisodeReader& episode, int step,
                                      const std::vector<int>& cameras,
                                      const SceneInputOptions& options) {
  Observation observation;
  for (std::size_t i = 0; i < cameras.size(); ++i) {
    INTERLACER_ASSIGN_OR_RETURN(RgbdView view, episode.ReadView(step, cameras[i]));
    view.camera_name = options.model_cameras[i];
    observation.views.push_back(std::move(view));
  }
  return observation;
}

void ShiftTimes(SceneInput* input) {
  std::int64_t earliest_ns = std::numeric_limits<std::int64_t>::max();
  for (const Observation& observation : input->observations) {
    for (const RgbdView& view : observation.views) {
      earliest_ns = std::min(earliest_ns, view.capture_time_ns);
    }
  }
  for (Observation& observation : input->observations) {
    for (RgbdView& view : observation.views) view.capture_time_ns += kFirstTimeNs - earliest_ns;
  }
}

std::shared_ptr<const Robot> RobotOf(const EpisodeReader& episode,
                                     const SceneInputOptions& options) {
  return options.robot != nullptr ? options.robot : episode.robot();
}

StatusOr<std::vector<int>> ColumnsOf(const EpisodeReader& episode, const MotionTable& motion,
                                     const SceneInputOptions& options) {
  const std::shared_ptr<const Robot> robot = RobotOf(episode, options);
  if (robot == nullptr) return ColumnsByName(motion, options.model_columns);
  return ColumnsInOrder(motion, robot.get());
}

}  // namespace

SceneInputOptions SceneInputOptionsFor(const ModelMetadata& metadata) {
  SceneInputOptions options;
  options.model_cameras.clear();
  for (const CameraSpec& camera : metadata.cameras) options.model_cameras.push_back(camera.name);
  options.step_duration_s = metadata.step_duration_s;
  for (const ActionColumn& column : metadata.action_columns) {
    options.model_columns.push_back(column.name);
  }
  return options;
}

StatusOr<SceneInput> MakeSceneInput(const EpisodeReader& episode,
                                    const SceneInputOptions& options) {
  const EpisodeManifest& manifest = episode.manifest();
  INTERLACER_RETURN_IF_ERROR(CheckSteps(episode, options));
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> cameras, ChooseCameras(episode, options));
  SceneInput input;
  input.seed = options.seed;
  input.workspace = manifest.workspace;
  input.robot = RobotOf(episode, options);
  input.near_m = manifest.cameras[cameras.front()].near_m;
  input.far_m = manifest.cameras[cameras.front()].far_m;
  if (manifest.kind == EpisodeKind::kStaticViews) {
    INTERLACER_ASSIGN_OR_RETURN(Observation newest, ReadObservation(episode, 0, cameras, options));
    const Observation older = newest;
    for (RgbdView& view : newest.views) {
      view.capture_time_ns += ToNanoseconds(options.step_duration_s);
    }
    input.observations = {older, std::move(newest)};
  } else {
    std::vector<int> columns;
    if (manifest.states) {
      INTERLACER_ASSIGN_OR_RETURN(columns, ColumnsOf(episode, *manifest.states, options));
    }
    for (int step : {options.newest_step - options.stride, options.newest_step}) {
      INTERLACER_ASSIGN_OR_RETURN(Observation observation,
                                  ReadObservation(episode, step, cameras, options));
      input.observations.push_back(std::move(observation));
      if (!manifest.states) continue;
      input.history_actions.kind = manifest.states->kind;
      AppendRow(episode.states(), step, columns, &input.history_actions);
    }
  }
  ShiftTimes(&input);
  return input;
}

StatusOr<ActionSequence> MakePlannedActions(const EpisodeReader& episode,
                                            const SceneInputOptions& options, int step_count) {
  INTERLACER_RETURN_IF_ERROR(CheckSteps(episode, options));
  ActionSequence actions;
  const auto& motion = episode.manifest().actions;
  if (!motion) return actions;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<int> columns, ColumnsOf(episode, *motion, options));
  actions.kind = motion->kind;
  actions.column_count = std::ssize(columns);
  for (int s = 1; s <= step_count; ++s) {
    const int step = options.newest_step + s * options.stride;
    if (step >= episode.step_count()) break;
    AppendRow(episode.actions(), step, columns, &actions);
  }
  return actions;
}

}  // namespace interlacer
