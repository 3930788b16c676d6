#pragma once

/// Episodes of a LeRobot data set (v3.0, v2.1), each as an episode of a manipulation.
///
/// Cameras: data/importers/lerobot_views.h; joints: data/importers/lerobot_joints.h, by --joints
/// (default observation.state) and --commands (default none: actions are then the measured joints
/// of the same step, which the notes say). The format says neither where cameras stand nor the unit
/// of a joint: --calibration, --joint-unit and --robot are required. A step lasts --step-duration
/// (default 0.5 s) and takes the frame nearest to it, whose stamp is its capture time.
/// Errors: those above; ARGUMENT_INVALID, NO_CALIBRATION, SCHEMA_INVALID, TIMESTAMP_INVALID.
/// Thread-safe.

#include "data/importers/import_options.h"

namespace interlacer {

/// How many the set has.
StatusOr<std::int64_t> CountLerobotEpisodes(const std::string& folder);

/// The one of LerobotOptions.
StatusOr<ImportReport> ImportLerobot(const ImportOptions& options);

}  // namespace interlacer
