#pragma once

/// The candidate motions of simulated scenes, and a model's prediction of each.
///
/// Episodes of one task and one seed that begin with the same two rows of commands are one scene
/// (`interlacer simulate --motions N`); then their arms move differently. The object is the first
/// one of the scene. Errors: those of data sets, of evaluation/prediction_task.h and of the
/// backend; NOT_FOUND FILE_NOT_FOUND for a split without such a scene or an episode without truth;
/// INVALID_ARGUMENT STEP_INVALID for episodes shorter than the horizon. Threads: calls with
/// different backends may run together.

#include <cstdint>
#include <stop_token>
#include <string>
#include <vector>

#include "client/rollout_backend.h"
#include "common/status.h"
#include "experiments/planner/ranking.h"

namespace interlacer {

/// Fewer do not show where the object goes.
inline constexpr int kMinObjectParticles = 3;

struct PlannedScene {
  std::string name;
  std::vector<std::string> episode_dirs;  ///< two or more
};

/// Scenes in the order of the data set.
StatusOr<std::vector<PlannedScene>> ListPlannedScenes(const std::string& dataset,
                                                      const std::string& split);

/// Predicts `horizon` steps of the episode's commanded motion from its first full history, without
/// rendering, and compares the object's particles, which may be none, with the simulation.
StatusOr<MotionOutcome> PredictMotion(const std::string& episode_dir, int horizon,
                                      std::int64_t seed, RolloutBackend* backend,
                                      const std::stop_token& stop);

}  // namespace interlacer
