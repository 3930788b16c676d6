#pragma once

/// Runs one prediction and scores every view of every step, the model's beside the subjects that
/// need none: the common work of `predict --report` and `evaluate`. Without a backend the subjects
/// that need no model are scored alone. One call at a time per backend.

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/evaluated_view.h"
#include "evaluation/prediction_task.h"
#include "evaluation/scene_motion.h"

namespace interlacer {

struct EpisodeEvaluation {
  std::vector<EvaluatedView> views;                ///< by step, then in the order of the targets
  std::map<std::string, ParticleCensus> censuses;  ///< by camera that was observed
  /// The particles of step 0 as "kinematic" and, in simulated episodes, as "truth" moves them.
  std::vector<CarriedParticles> carried;
  RolloutSummary summary;

  const EvaluatedView* Find(const std::string& camera, int step) const;
};

/// Called for each step after it was scored, with the particles (none without a model); may take
/// pictures away. An error ends the run.
using EvaluatedStepCallback =
    std::function<Status(const PredictedStep& step, std::vector<EvaluatedView>& views)>;

/// `backend` may be null where `metadata` is that of MetadataWithoutModel.
StatusOr<EpisodeEvaluation> EvaluateEpisode(const EpisodeReader& episode,
                                            const PredictionTask& task,
                                            const ModelMetadata& metadata, RolloutBackend* backend,
                                            const EvaluatedStepCallback& on_step,
                                            std::stop_token stop);
StatusOr<EpisodeEvaluation> EvaluateEpisode(const EpisodeReader& episode,
                                            const PredictionTask& task, RolloutBackend* backend,
                                            const EvaluatedStepCallback& on_step,
                                            std::stop_token stop);

}  // namespace interlacer
