#pragma once

/// The robot of the simulated world: two KUKA iiwa arms that face each other across a table.
///
/// One table of numbers from which the forward kinematics and the MuJoCo model are both made, so
/// that they cannot disagree. World frame `table_center`: origin in the middle of the table top, x
/// from the left arm to the right arm, z up; metres and radians.
/// Arm order is left, right. A robot state (measured or commanded) has 16 columns, per arm seven
/// joint angles and the opening of the gripper, the distance of each finger from the closed
/// position.
/// Thread-safety: constants and pure functions.
/// Source: robosuite (link frames and joint limits of the iiwa).

#include <array>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/geometry.h"

namespace interlacer::sim {

inline constexpr int kArmCount = 2;
inline constexpr int kJointCount = 7;                ///< revolute joints of one arm
inline constexpr int kArmColumns = kJointCount + 1;  ///< joints and gripper opening
inline constexpr int kStateColumns = kArmCount * kArmColumns;
inline constexpr double kGripperMaxM = 0.04;

using ArmJoints = std::array<double, kJointCount>;
using RobotState = std::array<double, kStateColumns>;

inline constexpr std::array<std::string_view, kArmCount> kArmNames = {"left", "right"};

/// Frame of a link in its parent, and the range of the joint that turns it about its own z axis.
struct LinkFrame {
  Transform parent_from_link;
  double limit_rad;
};
extern const std::array<LinkFrame, kJointCount> kLinks;

/// Gripper base in the frame of link 7.
extern const Transform kLink7FromGripper;
/// Finger tips slide along the y axis of the gripper: tip i lies at y = +-(offset + opening).
inline constexpr double kFingerLengthM = 0.148;  ///< gripper base to finger tip along z
inline constexpr double kFingerOffsetM = 0.012;  ///< tip to the middle plane when closed
/// Middle between the finger tips, in the frame of the gripper.
inline constexpr Vec3d kGripperToolPoint = {0, 0, kFingerLengthM};

/// World frame from the base of each arm.
extern const std::array<Transform, kArmCount> kWorldFromBase;

/// One column of a robot state: "left_joint_1_rad" ... "right_gripper_m".
struct StateColumn {
  std::string name;
  std::string unit;  ///< "rad" or "m"
  double min;
  double max;
  double max_change_per_step;  ///< largest change in one step of 0.5 s
};
/// The 16 columns in order.
const std::vector<StateColumn>& StateColumns();

ArmJoints JointsOfArm(std::span<const double, kStateColumns> state, int arm);
double GripperOfArm(std::span<const double, kStateColumns> state, int arm);

}  // namespace interlacer::sim
