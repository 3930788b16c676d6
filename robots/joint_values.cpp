#include "robots/joint_values.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "common/joint_limits.h"
#include "common/number_text.h"

namespace interlacer {
namespace {

std::string JointList(const Robot& robot) {
  std::string list;
  for (int link : robot.columns) {
    list += (list.empty() ? "" : ", ") + robot.links[link].joint.name;
  }
  return list;
}

std::string ColumnName(const RobotJoint& joint) {
  return joint.name + "_" + std::string(UnitOf(joint.type));
}

/// The column of a name, or -1.
int FindColumn(const Robot& robot, const std::string& name) {
  const auto found = std::find_if(robot.columns.begin(), robot.columns.end(), [&](int link) {
    const RobotJoint& joint = robot.links[link].joint;
    return name == joint.name || name == ColumnName(joint);
  });
  return found == robot.columns.end() ? -1 : static_cast<int>(found - robot.columns.begin());
}

}  // namespace

std::vector<std::string> ColumnNames(const Robot& robot) {
  std::vector<std::string> names;
  for (int link : robot.columns) names.push_back(ColumnName(robot.links[link].joint));
  return names;
}

std::vector<ActionColumn> ActionColumns(const Robot& robot, double step_duration_s) {
  std::vector<ActionColumn> columns;
  for (const int link : robot.columns) {
    const RobotJoint& joint = robot.links[link].joint;
    constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    const JointLimits limits = joint.limits.value_or(JointLimits{-kNoLimit, kNoLimit});
    const bool is_length = joint.type == JointType::kPrismatic;
    columns.push_back({ColumnName(joint), is_length ? ActionUnit::kMeters : ActionUnit::kRadians,
                       limits.min, limits.max, joint.max_speed.value_or(0) * step_duration_s});
  }
  return columns;
}

StatusOr<std::vector<int>> MatchColumns(const Robot& robot, std::span<const std::string> names) {
  std::vector<int> source(robot.columns.size(), -1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    const std::string field = "columns[" + std::to_string(i) + "]";
    const int column = FindColumn(robot, names[i]);
    if (column < 0) {
      return Mismatch(reason::ACTION_SHAPE, field,
                      "a joint of robot '" + robot.name + "': " + JointList(robot),
                      "'" + names[i] + "'");
    }
    if (source[column] >= 0) {
      return Mismatch(reason::ACTION_SHAPE, field, "each joint once", "'" + names[i] + "' again");
    }
    source[column] = static_cast<int>(i);
  }
  for (std::size_t c = 0; c < source.size(); ++c) {
    if (source[c] >= 0) continue;
    return Mismatch(reason::ACTION_SHAPE, "columns",
                    "a column of every joint of robot '" + robot.name + "': " + JointList(robot),
                    "none of '" + robot.links[robot.columns[c]].joint.name + "'");
  }
  return source;
}

Status CheckJointValues(const Robot& robot, std::span<const double> joint_values,
                        const std::string& field) {
  if (joint_values.size() != robot.columns.size()) {
    return Mismatch(reason::ACTION_SHAPE, field,
                    std::to_string(robot.columns.size()) + " joint values of robot '" + robot.name +
                        "': " + JointList(robot),
                    std::to_string(joint_values.size()));
  }
  for (std::size_t c = 0; c < joint_values.size(); ++c) {
    const RobotJoint& joint = robot.links[robot.columns[c]].joint;
    const std::string unit = " " + std::string(UnitOf(joint.type));
    const std::string place = field + "[" + std::to_string(c) + "]";
    const double value = joint_values[c];
    if (!std::isfinite(value)) {
      return Mismatch(reason::ACTION_NOT_FINITE, place,
                      "a finite value of joint '" + joint.name + "'", NumberText(value));
    }
    if (joint.limits && !IsWithinJointLimits(value, joint.limits->min, joint.limits->max)) {
      return Mismatch(reason::ACTION_OUT_OF_RANGE, place,
                      "joint '" + joint.name + "' from " + NumberText(joint.limits->min) + " to " +
                          NumberText(joint.limits->max) + unit + kJointSlackText,
                      NumberText(value) + unit);
    }
  }
  return Status::Ok();
}

std::vector<double> RestValues(const Robot& robot) {
  std::vector<double> values;
  for (int link : robot.columns) {
    const auto& limits = robot.links[link].joint.limits;
    values.push_back(limits ? std::clamp(0.0, limits->min, limits->max) : 0.0);
  }
  return values;
}

StatusOr<std::vector<double>> ParseJointValues(const Robot& robot,
                                               std::span<const std::string> assignments) {
  std::vector<double> values = RestValues(robot);
  for (const std::string& text : assignments) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const int column = FindColumn(robot, name);
    if (equals == std::string::npos || column < 0) {
      return Mismatch(reason::ACTION_SHAPE, "joints",
                      "joint=value with a joint of robot '" + robot.name + "': " + JointList(robot),
                      "'" + text + "'");
    }
    const char* const end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data() + equals + 1, end, values[column]);
    if (error != std::errc() || stop != end) {
      return Mismatch(reason::ACTION_SHAPE, "joints", "a number after " + name + "=",
                      "'" + text.substr(equals + 1) + "'");
    }
  }
  INTERLACER_RETURN_IF_ERROR(CheckJointValues(robot, values, "joints"));
  return values;
}

}  // namespace interlacer
