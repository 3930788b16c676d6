#pragma once

/// Every planned prediction of one episode, scored into a results file: the work that `evaluate`
/// and the experiments share.
///
/// Values, timings and findings are added to `results` when the whole episode is done, so an error
/// or a stop leaves it as it was. Errors: those of EvaluateEpisode and of writing pictures;
/// CANCELLED. One call at a time per backend.

#include <filesystem>
#include <functional>
#include <stop_token>
#include <string>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "data/episode_reader.h"
#include "evaluation/evaluation_plan.h"
#include "evaluation/results.h"

namespace interlacer {

struct EpisodeRunOptions {
  PlanOptions plan;
  /// Where pictures go; empty writes none.
  std::string frames_dir;
  /// Changes a prediction before it runs, such as its actions; may be empty.
  std::function<Status(PredictionTask*)> alter;
};

Status RunEpisode(const EpisodeReader& episode, const EpisodeRunOptions& options,
                  RolloutBackend* backend, Results* results, const std::stop_token& stop);

/// Where the picture of a subject ("model", "splat") or the "truth" lies below a folder of frames.
std::filesystem::path FramePath(const std::string& frames_dir, const std::string& episode,
                                int start_step, const std::string& camera, int step,
                                const std::string& subject);

}  // namespace interlacer
