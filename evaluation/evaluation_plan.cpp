#include "evaluation/evaluation_plan.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "data/training_windows.h"
#include "data/view_choice.h"

namespace interlacer {
namespace {

PredictionRequest BaseRequest(const PlanOptions& options) {
  PredictionRequest request;
  request.start_step = options.start_step;
  request.step_count = options.step_count;
  request.input_cameras = options.input_cameras;
  request.target_cameras = options.target_cameras;
  request.picture_size = options.picture_size;
  request.seed = options.seed;
  request.paint_outside_white = options.paint_outside_white;
  request.render_mode = options.render_mode;
  request.measures_spread = options.measures_spread;
  request.subjects = options.subjects;
  request.robot = options.robot;
  return request;
}

std::optional<int> FindCamera(const EpisodeManifest& manifest, const std::string& name) {
  for (std::size_t i = 0; i < manifest.cameras.size(); ++i) {
    if (manifest.cameras[i].name == name) return static_cast<int>(i);
  }
  return std::nullopt;
}

/// Whether the request or the episode already determines the input cameras.
bool AreInputsKnown(const EpisodeManifest& manifest, const ModelMetadata& metadata,
                    const PredictionRequest& request) {
  if (!request.input_cameras.empty()) return true;
  return std::all_of(metadata.cameras.begin(), metadata.cameras.end(), [&](const auto& camera) {
    return FindCamera(manifest, camera.name).has_value();
  });
}

/// The request with two input views, and with a view between them where it names no targets: one
/// for each choice.
StatusOr<std::vector<PredictionRequest>> ListViewRequests(const EpisodeManifest& manifest,
                                                          const ModelMetadata& metadata,
                                                          const PredictionRequest& base) {
  if (AreInputsKnown(manifest, metadata, base)) return std::vector<PredictionRequest>{base};
  if (metadata.cameras.size() != 2) {
    return Mismatch(reason::CAMERA_MISSING, "cameras",
                    std::to_string(metadata.cameras.size()) + " names (--cameras)", "none");
  }
  ViewChoiceOptions options;
  for (const std::string& name : base.target_cameras) {
    const std::optional<int> camera = FindCamera(manifest, name);
    if (!camera) {
      return Mismatch(reason::CAMERA_UNKNOWN, "target cameras", "names of the episode's cameras",
                      name);
    }
    options.targets.push_back(*camera);
  }
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<ViewChoice> choices,
                              ListViewChoices(manifest, options));
  const auto name_of = [&](int view) { return manifest.cameras[view].name; };
  std::vector<PredictionRequest> requests;
  for (const ViewChoice& choice : choices) {
    PredictionRequest request = base;
    request.input_cameras = {name_of(choice.first), name_of(choice.second)};
    if (base.target_cameras.empty() && choice.held_out) {
      request.target_cameras = {name_of(*choice.held_out)};
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

StatusOr<std::vector<PredictionRequest>> PlanStatic(const EpisodeManifest& manifest,
                                                    const ModelMetadata& metadata,
                                                    const PlanOptions& options) {
  PredictionRequest base = BaseRequest(options);
  base.step_count = std::min(options.step_count, kDefaultStaticSteps);
  return ListViewRequests(manifest, metadata, base);
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

StatusOr<PredictionRequest> WithChosenViews(const EpisodeManifest& manifest,
                                            const ModelMetadata& metadata,
                                            PredictionRequest request) {
  if (manifest.kind != EpisodeKind::kStaticViews) return request;
  INTERLACER_ASSIGN_OR_RETURN(const std::vector<PredictionRequest> all,
                              ListViewRequests(manifest, metadata, request));
  return all.front();
}

}  // namespace interlacer
