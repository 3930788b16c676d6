#include "client/cli/evaluation/evaluation_plan.h"

#include <algorithm>
#include <utility>

#include "data/training_windows.h"

namespace interlacer {
namespace {

PredictionRequest BaseRequest(const PlanOptions& options) {
  PredictionRequest request;
  request.start_step = options.start_step;
  request.step_count = options.step_count;
  request.input_cameras = options.input_cameras;
  request.target_cameras = options.target_cameras;
  request.seed = options.seed;
  request.paint_outside_white = options.paint_outside_white;
  return request;
}

/// Two input views and the views between them that the model does not see.
StatusOr<std::vector<PredictionRequest>> PlanStatic(const EpisodeManifest& manifest,
                                                    const ModelMetadata& metadata,
                                                    const PlanOptions& options) {
  PredictionRequest base = BaseRequest(options);
  base.step_count = std::min(options.step_count, kDefaultStaticSteps);
  if (!options.input_cameras.empty()) return std::vector<PredictionRequest>{base};

  WindowOptions window_options;
  window_options.rollout_step_count = 0;
  window_options.camera_names.clear();
  for (const CameraSpec& camera : metadata.cameras) {
    window_options.camera_names.push_back(camera.name);
  }
  INTERLACER_ASSIGN_OR_RETURN(std::vector<TrainingWindow> windows,
                              ListTrainingWindows(manifest, window_options));
  std::vector<PredictionRequest> requests;
  for (const TrainingWindow& window : windows) {
    PredictionRequest request = base;
    for (const int index : window.input_cameras) {
      request.input_cameras.push_back(manifest.cameras[static_cast<std::size_t>(index)].name);
    }
    for (const int index : window.target_cameras) {
      const std::string& name = manifest.cameras[static_cast<std::size_t>(index)].name;
      const auto& inputs = request.input_cameras;
      if (std::find(inputs.begin(), inputs.end(), name) == inputs.end()) {
        request.target_cameras.push_back(name);
      }
    }
    if (!request.target_cameras.empty()) requests.push_back(std::move(request));
  }
  if (requests.empty()) {
    return Mismatch(reason::CAMERA_MISSING, "cameras", "three views of the static scene or more",
                    std::to_string(manifest.cameras.size()));
  }
  return requests;
}

StatusOr<std::vector<PredictionRequest>> PlanSteps(const EpisodeManifest& manifest,
                                                   const ModelMetadata& metadata,
                                                   const PlanOptions& options) {
  if (options.start_step >= 0) return std::vector<PredictionRequest>{BaseRequest(options)};
  INTERLACER_ASSIGN_OR_RETURN(const int stride, WindowStride(manifest, metadata.step_duration_s,
                                                             metadata.max_history_spacing_error_s));
  const int last = manifest.step_count - 1 - options.step_count * stride;
  std::vector<PredictionRequest> requests;
  for (int start = stride; start <= last; ++start) {
    requests.push_back(BaseRequest(options));
    requests.back().start_step = start;
  }
  if (requests.empty()) {
    return Mismatch(reason::STEP_INVALID, "step_count",
                    std::to_string(1 + stride + options.step_count * stride) + " steps or more",
                    std::to_string(manifest.step_count));
  }
  return requests;
}

}  // namespace

std::vector<std::size_t> SpreadIndices(std::size_t size, std::size_t count) {
  std::vector<std::size_t> indices;
  const std::size_t taken = std::min(size, count);
  for (std::size_t i = 0; i < taken; ++i) {
    indices.push_back(taken == 1 ? 0 : i * (size - 1) / (taken - 1));
  }
  return indices;
}

StatusOr<std::vector<PredictionRequest>> PlanEpisode(const EpisodeManifest& manifest,
                                                     const ModelMetadata& metadata,
                                                     const PlanOptions& options) {
  const bool is_static = manifest.kind == EpisodeKind::kStaticViews;
  INTERLACER_ASSIGN_OR_RETURN(
      const std::vector<PredictionRequest> all,
      is_static ? PlanStatic(manifest, metadata, options) : PlanSteps(manifest, metadata, options));
  std::vector<PredictionRequest> chosen;
  for (const std::size_t i :
       SpreadIndices(all.size(), static_cast<std::size_t>(options.window_count))) {
    chosen.push_back(all[i]);
  }
  return chosen;
}

}  // namespace interlacer
