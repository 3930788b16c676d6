#pragma once

/// Joint values of a robot: names of their columns, their check, and values by name.
///
/// A column is called by its joint and unit, "left_joint_1_rad", "finger_joint_m"; where names come
/// from outside, the joint's name alone is understood too.
/// Errors: INVALID_ARGUMENT ACTION_SHAPE (count, or names that do not match the robot's joints),
/// ACTION_NOT_FINITE, ACTION_OUT_OF_RANGE past the tolerance of common/joint_limits.h; they name
/// the joint, its limits and what came. Thread-safety: pure functions.

#include <span>
#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "robots/robot.h"

namespace interlacer {

std::vector<std::string> ColumnNames(const Robot& robot);

/// Columns of steps of `step_duration_s`; infinite limits where a joint has none, no limit of
/// change where it has no speed.
std::vector<ActionColumn> ActionColumns(const Robot& robot, double step_duration_s);

/// For each column of the robot the index in `names` of the column that holds its values. Every
/// name must be one of the robot's joints and every column of the robot be named once.
StatusOr<std::vector<int>> MatchColumns(const Robot& robot, std::span<const std::string> names);

/// One row of joint values; `field` is where it came from.
Status CheckJointValues(const Robot& robot, std::span<const double> joint_values,
                        const std::string& field);

/// 0 for every joint, or the limit next to 0 where that lies outside.
std::vector<double> RestValues(const Robot& robot);

/// RestValues with "joint=value" texts put over them, checked.
StatusOr<std::vector<double>> ParseJointValues(const Robot& robot,
                                               std::span<const std::string> assignments);

}  // namespace interlacer
