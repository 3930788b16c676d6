#pragma once

/// Two KUKA iiwa arms that face each other across a table: the simulator's default.
///
/// World frame `table_center`: origin in the middle of the table top, x from the left arm to the
/// right arm, z up; metres and radians. Arm order is left, right. A robot state (measured or
/// commanded) has 16 columns, per arm seven joint angles and the opening of the gripper, the
/// distance of each finger from the closed position. Other robots: data/sim/arm_model.h.
/// Thread-safety: constants and pure functions.

#include <array>

#include "data/sim/arm_model.h"

namespace interlacer::sim {

inline constexpr int kArmCount = kMaxArmCount;
inline constexpr int kStateColumns = kArmCount * kArmColumns;

using RobotState = std::array<double, kStateColumns>;

}  // namespace interlacer::sim
