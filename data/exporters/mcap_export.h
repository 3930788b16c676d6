#pragma once

/// Episodes and predictions as MCAP files with Foxglove's schemas, or as ROS 2 records them.
///
/// Episode: /CAMERA/color (rgb8), /CAMERA/depth (16UC1 where its integers are millimetres, else
/// 32FC1 in metres with NaN), /CAMERA/calibration; /tf with world_from_camera of the frames
/// CAMERA_optical_frame and of the robot's links for the measured joints; /joint_states and
/// /joint_commands by joint. Stamps are the capture times; joints have those of the first camera.
/// Prediction: /prediction/particles in the frame `world`, coloured where the build has Open3D,
/// /prediction/CAMERA and /truth/CAMERA, /CAMERA/calibration and /tf of their cameras; stamps count
/// from the newest observed step.
/// An episode's manifest is a metadata record, its robot and the truth of a simulation are
/// attachments (data/episode_record.h), so that `import ros2` reads it back as it was. Memory: one
/// step. Errors: those of
/// data/episode_reader.h, common/file_io.h and data/mcap/mcap_writer.h; SCHEMA_INVALID; CANCELLED.
/// Threads: one at a time an output file. Source: mcap-spec; foxglove-schemas;
/// ros2-interfaces.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

enum class McapProfile { kFoxglove, kRos2 };

struct McapExportOptions {
  McapProfile profile = McapProfile::kFoxglove;
  std::stop_token stop;
  std::function<void(std::int64_t done, std::int64_t total)> on_step;
};

/// The paths of those files of the episode that are left out.
StatusOr<std::vector<std::string>> ExportEpisodeAsMcap(const std::string& episode_dir,
                                                       const std::string& path,
                                                       const McapExportOptions& options = {});
Status ExportPredictionAsMcap(const std::string& prediction_dir, const std::string& path,
                              const McapExportOptions& options = {});

}  // namespace interlacer
