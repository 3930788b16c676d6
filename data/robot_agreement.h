#pragma once

/// Whether a robot is where its joints say: what the cameras measure against its posed surface.
///
/// Surface points that a camera should see (they face it, and nothing of the robot lies before
/// them) are compared with the depth measured there. A shift of the surface is fitted to the
/// distances along the normals, by point-to-plane steps with robust weights: of the whole robot in
/// each camera, for a calibration or a base that is off, and of each link, for a joint that is off.
/// What lies nearer than the robot hides it and does not count; where the camera looks through most
/// of a link, that link is not there. Findings: ROBOT_NOT_WHERE_JOINTS_SAY, at most one a view,
/// with the distance; the field is "views[i].calibration" or "joint_values". Distances below
/// kMaxRobotShiftM, links of which less than 25 points are to be seen and pixels without depth say
/// nothing. Errors: IMAGE_SIZE_MISMATCH; those of CheckJointValues in robots/joint_values.h.
/// Deterministic. Thread-safe. Source: point-to-plane.

#include <span>
#include <vector>

#include "common/scene.h"
#include "common/status.h"
#include "robots/robot.h"

namespace interlacer {

inline constexpr double kMaxRobotShiftM = 0.012;

/// The views are of the moment of the joint values.
StatusOr<std::vector<Finding>> CheckRobotAgreement(std::span<const RgbdView> views,
                                                   const Robot& robot,
                                                   std::span<const double> joint_values);

}  // namespace interlacer
