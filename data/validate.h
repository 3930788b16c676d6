#pragma once

/// Validates a whole episode: files, hashes, calibration, units, time, actions.
///
/// Errors (a file that cannot be used) and findings (something to look at) are collected, not
/// stopped at the first. Findings: those of data/scene_report.h and, in some steps of an episode
/// with a robot folder, of data/robot_agreement.h, DEPTH_IMPLAUSIBLE (median outside
/// 0.05 ... 20 m), DEPTH_CONSTANT, DEPTH_ALMOST_EMPTY, CAMERA_SKEW_HIGH, TIMESTAMP_IRREGULAR,
/// MOTION_COVERAGE_LOW,
/// JOINT_UNIT_SUSPECT, ACTION_OUT_OF_RANGE (common/joint_limits.h), ACTION_JUMP, ANGLE_WRAPPED
/// (more than half a turn in a step, or between an action and the state of its step),
/// DEPTH_SATURATED (65535 in a depth image), ROBOT_COLUMNS_UNKNOWN (a table of joints that are not
/// the robot's), FILE_UNLISTED (data/system_files.h aside). Thread-safe.

#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/scene.h"
#include "common/status.h"
#include "data/attachment_check.h"
#include "data/episode_reader.h"

namespace interlacer {

struct ValidateOptions {
  bool verify_hashes = true;
  bool decode_colors = true;  ///< false for pictures that were just coded from pixels
  std::stop_token stop;       ///< asked between frames
};

struct CameraCheck {
  std::string camera_name;
  double valid_depth_ratio = 0;  ///< mean over the steps looked at
  double workspace_ratio = 0;
  double median_depth_m = 0;
};

struct ValidationReport {
  std::string episode_id;
  int step_count = 0;
  std::int64_t frame_count = 0;  ///< decoded depth images
  std::vector<CameraCheck> cameras;
  /// Median over neighbouring cameras of the cross-camera distance; negative: not measured.
  double cross_camera_distance_m = -1;
  /// Of a simulated episode with a robot folder; see data/attachment_check.h.
  std::optional<AttachmentScore> attachment;
  std::vector<Status> errors;
  std::vector<Finding> findings;
  bool ok() const { return errors.empty(); }
};

/// An error only if the episode cannot be opened at all, or CANCELLED.
StatusOr<ValidationReport> ValidateEpisode(const std::string& episode_dir,
                                           const ValidateOptions& options = {});

}  // namespace interlacer
