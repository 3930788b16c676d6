#pragma once

/// Inverse kinematics: joint angles that bring the gripper of one arm to a pose, pointing straight
/// down.
///
/// Damped least squares on position and orientation; the spare degree of freedom is pulled towards
/// a comfortable posture with the elbow up. Metres and radians, world frame.
/// Deterministic. Errors: OUT_OF_RANGE ACTION_OUT_OF_RANGE when the pose cannot be reached within
/// the joint limits to 0.5 mm and 2 mrad.
/// Thread-safety: pure functions.
/// Source: damped-ik (the step, with a constant damping).

#include "common/geometry.h"
#include "common/status.h"
#include "data/sim/arm_model.h"

namespace interlacer::sim {

/// Where the middle between the finger tips should be. The gripper's z axis points down; at yaw 0
/// the fingers open along the world's y axis, and yaw turns about the world's z axis.
struct ToolTarget {
  Vec3d position_m{};
  double yaw_rad = 0;
  double opening_m = 0;
};

/// Starts at `start_rad`, usually the pose of the step before; at first ArmModel::rest_rad.
StatusOr<ArmJoints> SolveArm(const ArmModel& model, int arm, const ToolTarget& target,
                             const ArmJoints& start_rad);

}  // namespace interlacer::sim
