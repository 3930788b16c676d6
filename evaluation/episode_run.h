#pragma once

/// Every planned prediction of one episode, scored into a results file: the work that `evaluate`
/// and the experiments share.
///
/// Values, timings and findings are added to `results` when the whole episode is done, so an error
/// or a stop leaves it as it was. Without a backend the subjects that need no model are scored.
/// Errors: those of EvaluateEpisode and of writing pictures; CANCELLED. One call at a time per
/// backend.

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
  /// Where pictures and the particles of the first prediction go; empty writes none.
  std::string frames_dir;
  /// Changes a prediction before it runs, such as its actions; may be empty.
  std::function<Status(PredictionTask*)> alter;
};

Status RunEpisode(const EpisodeReader& episode, const EpisodeRunOptions& options,
                  RolloutBackend* backend, Results* results, const std::stop_token& stop);

/// Beside the pictures of step 0 of an observed camera of a simulated episode: [n] uint8, the
/// ParticleKind of each particle.
inline constexpr char kParticleKindsFile[] = "particle_kinds.npy";

/// Where the particles of a rollout by step lie (evaluation/scene_view.h).
std::filesystem::path ScenePath(const std::string& frames_dir, const std::string& episode,
                                int start_step);

/// Where the picture of a subject or the "truth" lies below a folder of frames. Those of copy_last
/// and reconstruction are the truth and the model of step 0.
std::filesystem::path FramePath(const std::string& frames_dir, const std::string& episode,
                                int start_step, const std::string& camera, int step,
                                const std::string& subject);

}  // namespace interlacer
