#pragma once

/// Imports RGB-D recordings of other formats as episodes; the one entry for all formats.
///
///   tum      TUM RGB-D: rgb.txt, depth.txt, groundtruth.txt       -> moving_camera
///   redwood  Redwood and Open3D: color|image, depth, trajectory   -> static_views
///   apc      apc-vision-toolbox: frame-N.color.png, cam.info.txt  -> static_views
///   ros2     ROS 2 bags and MCAP files                            -> any kind
///   hdf5     robomimic and robosuite                              -> any kind
///   lerobot  LeRobot data sets v3.0 and v2.1                      -> manipulation
/// Every import ends with the validation of what was written.
/// Errors: UNIMPLEMENTED FEATURE_NOT_BUILT (hdf5, lerobot); INVALID_ARGUMENT ARGUMENT_INVALID
/// (unknown format; output in, around or at the source), NO_CALIBRATION, NO_DEPTH,
/// CALIBRATION_INVALID, SCHEMA_INVALID and those of data/importers/write_recording.h. Thread-safe.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "data/importers/import_options.h"

namespace interlacer {

const std::vector<std::string_view>& ImportFormats();

/// How many episodes a source of `lerobot` has, which ImportOptions number; ARGUMENT_INVALID for
/// other formats.
StatusOr<std::int64_t> CountEpisodes(std::string_view format, const std::string& source_dir);

StatusOr<ImportReport> ImportRecording(std::string_view format, const ImportOptions& options);

}  // namespace interlacer
