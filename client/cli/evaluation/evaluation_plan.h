#pragma once

/// Which predictions of an episode are evaluated.
///
/// Manipulation: `window_count` start steps, spread evenly over those that leave room for the whole
/// rollout. Static scenes, unless cameras are named: choices of two input views and one held-out
/// view between them, spread evenly over all such choices; their rollout keeps the default length.
/// Deterministic. Pure function. Errors: those of data/training_windows.h; INVALID_ARGUMENT
/// STEP_INVALID for an episode too short for one window.

#include <cstdint>
#include <string>
#include <vector>

#include "client/cli/evaluation/prediction_task.h"
#include "common/model_metadata.h"
#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

struct PlanOptions {
  int step_count = kDefaultRolloutSteps;
  int start_step = -1;
  int window_count = 1;
  std::vector<std::string> input_cameras;
  std::vector<std::string> target_cameras;
  std::int64_t seed = 0;
  bool paint_outside_white = true;
};

StatusOr<std::vector<PredictionRequest>> PlanEpisode(const EpisodeManifest& manifest,
                                                     const ModelMetadata& metadata,
                                                     const PlanOptions& options);

/// `count` of the indices 0 ... size - 1, first and last among them; all when there are no more.
std::vector<std::size_t> SpreadIndices(std::size_t size, std::size_t count);

}  // namespace interlacer
