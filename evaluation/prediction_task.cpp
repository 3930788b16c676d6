#include "evaluation/prediction_task.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "data/rectified_view.h"
#include "data/resized_view.h"
#include "data/scene_input.h"
#include "data/training_windows.h"

namespace interlacer {
namespace {

/// Views of a step that a server allows unless it is told otherwise.
constexpr std::size_t kMaxViewCount = 8;

StatusOr<int> CameraIndex(const EpisodeReader& episode, const std::string& name) {
  if (const std::optional<int> index = episode.FindCamera(name)) return *index;
  std::string known;
  for (const EpisodeCamera& camera : episode.manifest().cameras) {
    known += (known.empty() ? "" : ", ") + camera.name;
  }
  return Mismatch(reason::CAMERA_UNKNOWN, "camera", "one of " + known, name);
}

Status AddTarget(const EpisodeReader& episode, const ModelMetadata& metadata,
                 const std::string& name, bool is_input, PredictionTask* task) {
  INTERLACER_ASSIGN_OR_RETURN(const int index, CameraIndex(episode, name));
  const bool is_known =
      std::any_of(task->targets.begin(), task->targets.end(),
                  [&](const TargetView& target) { return target.episode_camera == index; });
  if (is_known) return Status::Ok();
  const auto [width_px, height_px] =
      SizeOf(task->request.picture_size, metadata.cameras[is_input ? task->targets.size() : 0],
             episode.manifest().cameras[static_cast<std::size_t>(index)]);
  const TargetView target{name, index, is_input, width_px, height_px};

  const Camera camera = RectifiedCamera(episode.CameraAt(task->start_step, index));
  RenderTarget view;
  view.name = name;
  view.camera = ResizedCamera(camera, target.width_px, target.height_px);
  view.compression = ViewCompression::kPng;
  task->output.render_targets.push_back(std::move(view));
  task->targets.push_back(target);
  return Status::Ok();
}

/// Each depth view comes right after its picture, so that one rendering serves both.
void AddDepthViews(PredictionTask* task) {
  const std::vector<RenderTarget> pictures = std::move(task->output.render_targets);
  task->output.render_targets.clear();
  const bool has_depth = 2 * pictures.size() <= kMaxViewCount;
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    task->output.render_targets.push_back(pictures[i]);
    if (!has_depth) continue;
    RenderTarget depth = pictures[i];
    depth.name = DepthViewName(task->targets[i]);
    depth.encoding = ViewEncoding::kDepthF32;
    depth.compression = ViewCompression::kNone;
    task->output.render_targets.push_back(std::move(depth));
  }
}

std::vector<std::string> InputCameraNames(const ModelMetadata& metadata,
                                          const PredictionRequest& request) {
  if (!request.input_cameras.empty()) return request.input_cameras;
  std::vector<std::string> names;
  for (const CameraSpec& camera : metadata.cameras) names.push_back(camera.name);
  return names;
}

Status AddTargets(const EpisodeReader& episode, const ModelMetadata& metadata,
                  const PredictionRequest& request, PredictionTask* task) {
  const std::vector<std::string> inputs = InputCameraNames(metadata, request);
  if (inputs.size() != metadata.cameras.size()) {
    return Mismatch(reason::CAMERA_MISSING, "input cameras",
                    std::to_string(metadata.cameras.size()) + " cameras",
                    std::to_string(inputs.size()));
  }
  for (const std::string& name : inputs) {
    INTERLACER_RETURN_IF_ERROR(AddTarget(episode, metadata, name, true, task));
  }
  for (const std::string& name : request.target_cameras) {
    INTERLACER_RETURN_IF_ERROR(AddTarget(episode, metadata, name, false, task));
  }
  AddDepthViews(task);
  return Status::Ok();
}

/// Steps of the episode that a model step spans, the newest observation and the rollout's length.
Status ChooseSteps(const EpisodeManifest& manifest, const ModelMetadata& metadata,
                   const PredictionRequest& request, PredictionTask* task) {
  task->is_static = manifest.kind == EpisodeKind::kStaticViews;
  if (!task->is_static) {
    INTERLACER_ASSIGN_OR_RETURN(task->stride, WindowStride(manifest, metadata.step_duration_s,
                                                           metadata.max_history_spacing_error_s));
  }
  const int first = task->is_static ? 0 : task->stride;
  task->start_step = request.start_step < 0 ? first : request.start_step;
  if (task->start_step < first || task->start_step >= manifest.step_count) {
    return Mismatch(reason::STEP_INVALID, "start step",
                    std::to_string(first) + " to " + std::to_string(manifest.step_count - 1),
                    std::to_string(task->start_step));
  }
  const int fallback = task->is_static ? kDefaultStaticSteps : kDefaultRolloutSteps;
  task->step_count = request.step_count < 0 ? fallback : request.step_count;
  return Status::Ok();
}

/// Adds as many steps as there are planned rows; an explicit request for more is an error.
Status AddActions(const EpisodeReader& episode, const PredictionRequest& request,
                  const SceneInputOptions& options, PredictionTask* task) {
  if (task->step_count == 0) return Status::Ok();
  task->has_own_actions = request.actions.has_value();
  if (task->has_own_actions) {
    task->actions = *request.actions;
    if (request.step_count < 0) task->step_count = static_cast<int>(task->actions.row_count);
  } else {
    INTERLACER_ASSIGN_OR_RETURN(task->actions,
                                MakePlannedActions(episode, options, task->step_count));
  }
  if (task->actions.kind == ActionKind::kNone || task->actions.row_count >= task->step_count) {
    return Status::Ok();
  }
  if (request.step_count >= 0) {
    return Mismatch(reason::STEP_INVALID, "steps",
                    "at most " + std::to_string(task->actions.row_count) + ", the planned rows" +
                        (task->has_own_actions ? std::string()
                                               : " after step " + std::to_string(task->start_step)),
                    std::to_string(request.step_count));
  }
  task->step_count = static_cast<int>(task->actions.row_count);
  if (task->step_count == 0) task->actions = {};
  return Status::Ok();
}

}  // namespace

const Camera& PredictionTask::CameraOf(const TargetView& target) const {
  const auto& views = output.render_targets;
  const auto view = std::find_if(views.begin(), views.end(),
                                 [&](const RenderTarget& v) { return v.name == target.name; });
  INTERLACER_CHECK(view != views.end() && view->camera, "every target is rendered by a camera");
  return *view->camera;
}

// A colon is not part of a camera's name, so the two kinds of names never meet.
std::string DepthViewName(const TargetView& target) {
  return "depth:" + std::to_string(target.episode_camera);
}

std::pair<int, int> SizeOf(const PictureSize& size, const CameraSpec& model,
                           const EpisodeCamera& recorded) {
  switch (size.of) {
    case PictureSize::Of::kGiven:
      return {size.width_px, size.height_px};
    case PictureSize::Of::kRecorded:
      return {recorded.camera.width_px, recorded.camera.height_px};
    case PictureSize::Of::kModel:
      break;
  }
  return {model.width_px, model.height_px};
}

StatusOr<PredictionTask> MakePredictionTask(const EpisodeReader& episode,
                                            const ModelMetadata& metadata,
                                            const PredictionRequest& request) {
  PredictionTask task;
  task.request = request;
  INTERLACER_RETURN_IF_ERROR(ChooseSteps(episode.manifest(), metadata, request, &task));
  INTERLACER_RETURN_IF_ERROR(AddTargets(episode, metadata, request, &task));

  SceneInputOptions options = SceneInputOptionsFor(metadata);
  options.newest_step = task.start_step;
  options.stride = task.stride;
  options.episode_cameras = request.input_cameras;
  options.seed = request.seed;
  options.robot = request.robot;
  INTERLACER_ASSIGN_OR_RETURN(task.input, MakeSceneInput(episode, options));
  INTERLACER_RETURN_IF_ERROR(AddActions(episode, request, options, &task));

  task.region = {task.input.workspace.value_or(metadata.workspace),
                 task.input.near_m.value_or(metadata.near_m),
                 task.input.far_m.value_or(metadata.far_m)};
  task.paint_outside_white = request.paint_outside_white;
  for (int step = 0; step <= task.step_count; ++step) task.output.steps.push_back(step);
  task.output.include_positions = true;
  task.output.include_colors = true;
  task.output.render_mode = request.render_mode;
  task.output.include_spread = request.measures_spread;
  return task;
}

StatusOr<std::optional<TrueFrame>> ReadTrueFrame(const EpisodeReader& episode,
                                                 const PredictionTask& task,
                                                 const TargetView& target, int step) {
  const int episode_step = task.EpisodeStep(step);
  const bool was_recorded = step == 0 || !task.has_own_actions;
  if (!was_recorded || episode_step >= episode.step_count()) return std::optional<TrueFrame>();
  INTERLACER_ASSIGN_OR_RETURN(const RgbdView recorded,
                              episode.ReadView(episode_step, target.episode_camera));
  RgbdView view = ResizedView(RectifiedView(recorded), target.width_px, target.height_px);
  if (task.paint_outside_white) {
    PaintOutsideWhite(ClassifyPixels(view.camera, view.depth, task.region), &view.color);
  }
  return std::optional<TrueFrame>(
      TrueFrame{view.camera, std::move(view.color), std::move(view.depth)});
}

}  // namespace interlacer
