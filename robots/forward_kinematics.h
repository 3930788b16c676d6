#pragma once

/// Where the links of a robot are for given joint values.
///
///   joint_values  [c] radians and metres in the order of Robot::columns
///   poses         [links] world_from_link
/// Mimic joints follow; limits are not checked here: callers that take outside input do that with
/// CheckJointValues of robots/joint_values.h. The robot must be valid (ValidateRobot), and the
/// count of values right. Float64, deterministic. Thread-safety: pure functions.

#include <span>
#include <vector>

#include "robots/robot.h"

namespace interlacer {

/// joint_from_link at a value of the joint itself.
Transform JointMotion(const RobotJoint& joint, double value);

std::vector<Transform> LinkPoses(const Robot& robot, std::span<const double> joint_values);

/// Surface points and normals in the world, in the order of Robot::surface.
struct PosedSurface {
  std::vector<Vec3d> positions_m;
  std::vector<Vec3d> normals;
};
PosedSurface PoseSurface(const Robot& robot, std::span<const Transform> world_from_link);

}  // namespace interlacer
