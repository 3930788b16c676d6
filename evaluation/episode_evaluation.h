#pragma once

/// Runs one prediction and scores every view of every step: the common work of `predict --report`
/// and `evaluate`. One call at a time per backend.

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/prediction_task.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// One camera at one step.
struct EvaluatedView {
  std::string camera;
  bool is_input = false;
  int step = 0;
  RgbImage predicted;
  std::optional<RgbImage> truth;
  std::optional<RgbImage> splat;
  std::vector<ViewScore> scores;  ///< empty without truth
};

struct EpisodeEvaluation {
  std::vector<EvaluatedView> views;  ///< by step, then in the order of the targets
  RolloutSummary summary;

  const EvaluatedView* Find(const std::string& camera, int step) const;
};

/// Called for each step after it was scored, with the particles; an error ends the run.
using EvaluatedStepCallback =
    std::function<Status(const PredictedStep& step, const std::vector<EvaluatedView>& views)>;

StatusOr<EpisodeEvaluation> EvaluateEpisode(const EpisodeReader& episode,
                                            const PredictionTask& task, RolloutBackend* backend,
                                            const EvaluatedStepCallback& on_step,
                                            std::stop_token stop);

}  // namespace interlacer
