#pragma once

/// Runs one prediction and scores every view of every step, the model's beside the subjects that
/// need none: the common work of `predict --report` and `evaluate`. Without a backend the subjects
/// that need no model are scored alone. One call at a time per backend.

#include <functional>
#include <map>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/prediction_task.h"
#include "evaluation/tracked_particles.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// One camera at one step.
struct EvaluatedView {
  std::string camera;
  bool is_input = false;
  int step = 0;
  std::optional<RgbImage> truth;
  /// By subject, in the order of kSubjects; those of copy_last and of the reconstruction are other
  /// steps' pictures and not repeated here.
  std::vector<std::pair<std::string, RgbImage>> pictures;
  std::vector<ViewScore> scores;  ///< empty without truth

  /// Null where the subject has none.
  const RgbImage* Picture(std::string_view subject) const;
};

/// Which particles of step 0 the scores of particles are about; simulated episodes.
struct ParticleCensus {
  std::vector<ParticleKind> kinds;         ///< [n]
  std::vector<std::string> moved_objects;  ///< that truly move in this rollout

  std::int64_t CountOf(ParticleKind kind) const;
  /// The kinds as an NPY file, [n] uint8.
  std::vector<std::uint8_t> KindsAsNpy() const;
};

struct EpisodeEvaluation {
  std::vector<EvaluatedView> views;                ///< by step, then in the order of the targets
  std::map<std::string, ParticleCensus> censuses;  ///< by camera that was observed
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
