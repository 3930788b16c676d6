#pragma once

/// Inverse kinematics of any robot: joint values that bring its links to poses, by damped least
/// squares within the joint limits.
///
///   start_values  [c] radians and metres in the order of Robot::columns
/// Joints that a goal does not hang on, and those of `held_columns`, keep their start values, which
/// must lie within the limits for the others. Where a goal leaves joints free, the nearest values
/// to the start in the sense of every step are taken. World frame, float64, deterministic.
/// Thread-safety: pure functions. Errors: broken invariants only; the robot must be valid, indices
/// and sizes right, rotations of length one. Source: damped-ik (the damping shrinks with the error,
/// as Levenberg and Marquardt have it).

#include <span>
#include <vector>

#include "robots/robot.h"

namespace interlacer {

/// Position and rotation may be those of two links: recordings of grippers mix frames.
struct LinkGoal {
  int position_link = 0;
  int rotation_link = 0;
  Vec3d position_m{};
  std::array<double, 4> rotation_xyzw{0, 0, 0, 1};
};

struct ReachedGoal {
  std::vector<double> joint_values;  ///< [c]
  double position_off_m = 0;
  double angle_off_rad = 0;
};

/// For each column whether the pose of a link hangs on it, mimic joints included.
std::vector<bool> ColumnsOfLink(const Robot& robot, int link);

/// The nearest that the search gets to the goal from the start.
ReachedGoal ReachGoal(const Robot& robot, const LinkGoal& goal,
                      std::span<const double> start_values,
                      const std::vector<bool>& held_columns = {});

}  // namespace interlacer
