#pragma once

/// Forward kinematics: frames of an arm, and the points of the two KUKA arms that older checkpoints
/// take as their input.
///
///   state  [16] radians and metres, columns of data/sim/robot.h
///   points [20,3] metres, world frame, per arm seven link frames, gripper base, two finger tips
/// Needs neither MuJoCo nor the robot's meshes; equal to MuJoCo's body positions within rounding.
/// Deterministic, allocation-free. Columns are not checked against their ranges: callers that take
/// outside input do that with StateColumns().
/// Thread-safety: pure functions.
/// Source: hd-vpd (kinematic particles of the robot).

#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/geometry.h"
#include "data/sim/robot.h"

namespace interlacer::sim {

inline constexpr int kArmPoints = kJointCount + 3;
inline constexpr int kKinematicPoints = kArmCount * kArmPoints;

using KinematicPoints = std::array<Vec3d, kKinematicPoints>;

/// The 20 kinematic points of one robot state.
KinematicPoints ForwardKinematics(std::span<const double, kStateColumns> state);

/// "left_link_1" ... "left_link_7", "left_gripper", "left_finger_1", "left_finger_2", "right_...".
const std::vector<std::string>& KinematicPointNames();

/// World frames of the seven links of one arm and of its gripper base.
struct ArmFrames {
  std::array<Transform, kJointCount> world_from_link;
  Transform world_from_gripper;
};
ArmFrames ComputeArmFrames(const ArmModel& model, int arm, const ArmJoints& joint_rad);

}  // namespace interlacer::sim
