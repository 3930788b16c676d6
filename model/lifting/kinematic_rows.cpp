#include "model/lifting/kinematic_rows.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/joint_limits.h"
#include "common/number_text.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

std::string IndexField(const std::string& field, std::int64_t index) {
  return field + ".values[" + std::to_string(index) + "]";
}

Status CheckShape(const ActionSequence& actions, std::int64_t columns, const std::string& field) {
  if (actions.column_count != columns) {
    return Mismatch(reason::ACTION_SHAPE, field + ".column_count", std::to_string(columns),
                    std::to_string(actions.column_count));
  }
  const auto got = static_cast<std::int64_t>(actions.values.size());
  if (actions.row_count < 0 || actions.row_count > got || got != actions.row_count * columns) {
    return Mismatch(reason::ACTION_SHAPE, field + ".values",
                    std::to_string(actions.row_count) + " rows of " + std::to_string(columns),
                    std::to_string(got) + " values");
  }
  for (std::int64_t i = 0; i < got; ++i) {
    if (!std::isfinite(actions.values[i])) {
      return Mismatch(reason::ACTION_NOT_FINITE, IndexField(field, i), "a finite number",
                      std::to_string(actions.values[i]));
    }
  }
  return Status();
}

Status CheckLimits(float value, const ActionColumn& column, const std::string& field) {
  if (IsWithinJointLimits(value, column.min_value, column.max_value)) return Status();
  return Mismatch(reason::ACTION_OUT_OF_RANGE, field,
                  column.name + " from " + NumberText(column.min_value) + " to " +
                      NumberText(column.max_value) + kJointSlackText,
                  NumberText(value));
}

StatusOr<KinematicRows> FromJoints(const ActionSequence& actions, const Robot& robot,
                                   const std::string& field) {
  constexpr double kUnused = 0;
  const std::vector<ActionColumn> columns = ActionColumns(robot, kUnused);
  const auto count = static_cast<std::int64_t>(columns.size());
  INTERLACER_RETURN_IF_ERROR(CheckShape(actions, count, field));
  KinematicRows rows{actions.row_count, {}, {}};
  for (std::int64_t row = 0; row < actions.row_count; ++row) {
    std::vector<double> state;
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t index = row * count + c;
      INTERLACER_RETURN_IF_ERROR(
          CheckLimits(actions.values[index], columns[c], IndexField(field, index)));
      state.push_back(actions.values[index]);
    }
    rows.link_poses.push_back(LinkPoses(robot, state));
    rows.joints.push_back(std::move(state));
  }
  return rows;
}

}  // namespace

void DescribeRobot(const Robot& robot, ModelMetadata* metadata) {
  metadata->robot_model_name = robot.name;
  metadata->action_columns = ActionColumns(robot, metadata->step_duration_s);
  metadata->accepts_joint_positions = true;
}

StatusOr<KinematicRows> ToKinematicRows(const ActionSequence& actions, const Robot* robot,
                                        const std::string& field) {
  switch (actions.kind) {
    case ActionKind::kNone:
      break;
    case ActionKind::kJointPositions:
      if (robot != nullptr) return FromJoints(actions, *robot, field);
      return Mismatch(reason::ACTION_KIND, field + ".kind",
                      "none, as there is no robot folder that says where joints move links",
                      "joint_positions");
    case ActionKind::kKinematicPoints:
      return Mismatch(reason::ACTION_KIND, field + ".kind",
                      "joint_positions: the model takes the poses of the robot's links, and points "
                      "have no rotations",
                      "kinematic_points_m");
  }
  if (actions.row_count != 0 || !actions.values.empty()) {
    return Mismatch(reason::ACTION_SHAPE, field, "no rows for a scene without a robot",
                    std::to_string(actions.row_count) + " rows");
  }
  return KinematicRows{};
}

Status CheckRobotTokens(const InterlacerConfig& config, const Robot& robot) {
  const auto& global = config.network.global.mechanism;
  const auto neighbors = static_cast<std::size_t>(
      std::max(LocalNeighborCount(config), global ? global->neighbor_count : 0));
  if (config.graph.scope == GraphScope::kAll || robot.surface.size() > neighbors) return Status();
  return Mismatch(reason::ARGUMENT_INVALID, "robot.surface",
                  "more than " + std::to_string(neighbors) + " points",
                  std::to_string(robot.surface.size()));
}

KinematicRows JoinRows(KinematicRows first, const KinematicRows& then) {
  first.row_count += then.row_count;
  first.link_poses.insert(first.link_poses.end(), then.link_poses.begin(), then.link_poses.end());
  first.joints.insert(first.joints.end(), then.joints.begin(), then.joints.end());
  return first;
}

}  // namespace interlacer
