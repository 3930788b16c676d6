#pragma once

/// Lists the training samples of an episode: two input times and the times to predict.
///
/// Manipulation and moving cameras: the newest input step s runs over the episode, the older is
/// s - stride, targets are s, s + stride, ... s + rollout_step_count stride. Static scenes have one
/// step: each window is an ordered choice of two input views that look at the same place, and one
/// more such view as a target; both input times are the same frames.
/// Errors: INVALID_ARGUMENT CAMERA_UNKNOWN, HISTORY_SPACING, ARGUMENT_INVALID.
/// Order: deterministic, ascending. Pure functions, thread-safe.

#include <string>
#include <vector>

#include "common/status.h"
#include "data/episode.h"
#include "data/view_overlap.h"

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
  /// Names of the model's cameras. Manipulation episodes must have all of them; a moving camera
  /// may be alone.
  std::vector<std::string> camera_names = {"left", "right"};
  /// Static scenes: which views look at the same place.
  OverlapLimits overlap;
};

/// All windows of an episode; none if it is too short.
StatusOr<std::vector<TrainingWindow>> ListTrainingWindows(const EpisodeManifest& manifest,
                                                          const WindowOptions& options);

/// Stride that makes the episode's steps the model's, within `tolerance_s`; 1 for static scenes.
StatusOr<int> WindowStride(const EpisodeManifest& manifest, double step_duration_s,
                           double tolerance_s);

}  // namespace interlacer
