#pragma once

/// What importers with a robot have in common: the columns of its joints, and cameras on its links.
///
/// Errors: ARGUMENT_INVALID (no robot), CALIBRATION_INVALID (no such link). Pure, thread-safe.

#include <vector>

#include "data/episode.h"
#include "data/importers/calibration_file.h"
#include "robots/robot.h"

namespace interlacer {

/// Names, units and limits; joints without limits get wide ones.
MotionTable JointColumns(const Robot& robot);

/// Whether the robot, or null, has the link that carries the camera.
Status CheckLink(const Robot* robot, const CameraCalibration& calibration);
/// world_from_camera of a camera on a link, one a row of `states`.
StatusOr<std::vector<Transform>> CarriedPoses(const Robot* robot,
                                              const CameraCalibration& calibration,
                                              const NumberTable& states);

}  // namespace interlacer
