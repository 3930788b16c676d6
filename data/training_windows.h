#pragma once

/// Which frames of an episode make one sample: two input times and the times to predict.
///
/// Manipulation and moving cameras: the newest input step s runs over the episode, the older is
/// s - 1, targets are s ... s + rollout_step_count. Static scenes have one step: each window is a
/// choice of two input views and one more target view; both input times are the same frames.
/// Order: deterministic, ascending. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

struct TrainingWindow {
  int older_step = 0;
  int newest_step = 0;
  std::vector<int> input_cameras;   ///< in the order of the model's cameras
  std::vector<int> target_cameras;  ///< views with a loss; the input cameras among them
  std::vector<int> target_steps;    ///< newest_step first (the reconstruction)
};

struct WindowOptions {
  int rollout_step_count = 6;
  /// Steps of the episode between two model steps; 1 if their durations are equal.
  int stride = 1;
  /// Names of the model's cameras; manipulation episodes must have all of them.
  std::vector<std::string> camera_names = {"left", "right"};
  /// Static scenes: at most so many views apart in the order of recording, so that they overlap.
  int max_view_gap = 4;
};

/// All windows of an episode; none if it is too short.
StatusOr<std::vector<TrainingWindow>> ListTrainingWindows(const EpisodeManifest& manifest,
                                                          const WindowOptions& options);

/// Stride that makes the episode's steps the model's, within `tolerance_s` a step; static scenes
/// take 1. Errors: INVALID_ARGUMENT HISTORY_SPACING.
StatusOr<int> WindowStride(const EpisodeManifest& manifest, double step_duration_s,
                           double tolerance_s);

}  // namespace interlacer
