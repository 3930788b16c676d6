#pragma once

/// Chooses the predictions of an episode that are evaluated.
///
/// Manipulation: `window_count` start steps, spread evenly over those that leave room for the whole
/// rollout. Static scenes, unless cameras are named: choices of two input views and one held-out
/// view between them (data/view_choice.h), spread evenly over all such choices; their rollout keeps
/// the default length. Recordings of a moving camera are passed as views
/// (EpisodeReader::AsStaticViews).
/// Deterministic. Pure functions. Errors: those of data/training_windows.h and data/view_choice.h;
/// INVALID_ARGUMENT CAMERA_UNKNOWN, STEP_INVALID for an episode too short for one window.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/status.h"
#include "data/episode.h"
#include "evaluation/prediction_task.h"

namespace interlacer {

/// The fields of every PredictionRequest, and how many there are.
struct PlanOptions {
  int step_count = kDefaultRolloutSteps;
  int start_step = -1;
  int window_count = 1;
  std::vector<std::string> input_cameras;
  std::vector<std::string> target_cameras;
  PictureSize picture_size;
  std::int64_t seed = 0;
  bool paint_outside_white = true;
  RenderMode render_mode = OutputOptions().render_mode;
  bool measures_spread = false;
  std::vector<std::string> subjects;
  std::shared_ptr<const Robot> robot;
};

StatusOr<std::vector<PredictionRequest>> PlanEpisode(const EpisodeManifest& manifest,
                                                     const ModelMetadata& metadata,
                                                     const PlanOptions& options);

/// One prediction: the first of the plan's choices of views where the scene is static and the
/// request names no input cameras, else the request itself.
StatusOr<PredictionRequest> WithChosenViews(const EpisodeManifest& manifest,
                                            const ModelMetadata& metadata,
                                            PredictionRequest request);

}  // namespace interlacer
