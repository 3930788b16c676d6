#pragma once

/// ROS 2 bags (MCAP, .db3) and MCAP files of Foxglove's schemas as episodes.
///
/// Cameras: data/importers/bag_cameras.h. Poses: tf of each camera's frame in the world frame at
/// the time of its colour image, interpolated between transforms at most 250 ms apart; or that of
/// the calibration file, fixed or on a link of the robot. With a robot folder: joints by name at
/// the time of the first camera's image, linear between readings at most 250 ms apart, or by
/// inverse kinematics from frames and topics of poses (data/importers/bag_end_effectors.h); steps
/// are step_duration apart; actions[s] is the command in force at step s, or, without a topic of
/// commands, states[s]. Without a robot the first camera's images are the steps. Of the steps for
/// which all is there the longest run is written; the others are counted. Capture times are the
/// stamps. Result: manipulation with a robot, static_views of one step, else moving_camera. Errors:
/// those of the files above; ARGUMENT_INVALID, ACTION_SHAPE (joints that the recording lacks),
/// CALIBRATION_INVALID (the robot stands elsewhere in tf). Thread-safe.

#include "data/importers/import_options.h"

namespace interlacer {

StatusOr<ImportReport> ImportRos2(const ImportOptions& options);

}  // namespace interlacer
