#pragma once

/// Forward kinematics of an arm: frames of its links, in the world frame.
///
/// Needs neither MuJoCo nor the robot's meshes; equal to MuJoCo's body positions within rounding.
/// Deterministic, allocation-free. Columns are not checked against their ranges: callers that take
/// outside input do that with StateColumnsOf().
/// Thread-safety: pure functions.

#include <array>

#include "common/geometry.h"
#include "data/sim/robot.h"

namespace interlacer::sim {

/// World frames of the seven links of one arm and of its gripper base.
struct ArmFrames {
  std::array<Transform, kJointCount> world_from_link;
  Transform world_from_gripper;
};
ArmFrames ComputeArmFrames(const ArmModel& model, int arm, const ArmJoints& joint_rad);

}  // namespace interlacer::sim
