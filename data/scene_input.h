#pragma once

/// Builds the input of a prediction from an episode's frames and rows.
///
/// Observations at steps newest_step - stride and newest_step; history rows are the measured states
/// of these steps, planned rows the actions after them. A static scene repeats its frame in time
/// and has no actions. The episode's box and depth range travel along, because recordings live in
/// frames and ranges of their own. Joint values stand in the order of the robot's columns. Errors:
/// those of data/episode_reader.h and data/episode_joints.h; INVALID_ARGUMENT CAMERA_UNKNOWN,
/// CAMERA_MISSING, CAMERA_DUPLICATE, STEP_INVALID. Thread-safe.

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "data/episode_reader.h"

namespace interlacer {

struct SceneInputOptions {
  int newest_step = 1;
  int stride = 1;
  /// Episode cameras that act as the model's; empty takes those with the model's names.
  std::vector<std::string> episode_cameras;
  std::vector<std::string> model_cameras = {"left", "right"};
  std::int64_t seed = 0;
  /// Duration of the model's step, between the two observations of a static scene.
  double step_duration_s = 0.5;
  /// Whose joints the rows hold; null takes the episode's own.
  std::shared_ptr<const Robot> robot;
  /// Columns of the model's own robot, for episodes without one.
  std::vector<std::string> model_columns;
};

/// With the cameras, the step and the columns of a model.
SceneInputOptions SceneInputOptionsFor(const ModelMetadata& metadata);

StatusOr<SceneInput> MakeSceneInput(const EpisodeReader& episode, const SceneInputOptions& options);

/// Rows of the actions at newest_step + stride, newest_step + 2 stride, ...: at most `step_count`,
/// fewer where the episode ends; kNone for episodes without actions.
StatusOr<ActionSequence> MakePlannedActions(const EpisodeReader& episode,
                                            const SceneInputOptions& options, int step_count);

}  // namespace interlacer
