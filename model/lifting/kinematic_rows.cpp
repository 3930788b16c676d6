#include "model/lifting/kinematic_rows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "common/joint_limits.h"
#include "common/number_text.h"
#include "data/sim/forward_kinematics.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

/// The robot that models know by the positions of its bodies.
constexpr char kBimanualKuka[] = "kuka_iiwa_bimanual";
constexpr double kMaxCoordinateM = 100;

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
                      NumberText(column.max_value) + ", 2 % of that beyond",
                  NumberText(value));
}

std::vector<ActionColumn> ColumnsOfBodies() {
  std::vector<ActionColumn> columns;
  for (const sim::StateColumn& column : sim::StateColumns()) {
    columns.push_back({column.name, column.unit == "m" ? ActionUnit::kMeters : ActionUnit::kRadians,
                       column.min, column.max, column.max_change_per_step});
  }
  return columns;
}

bool HaveEqualNames(const std::vector<ActionColumn>& a, const std::vector<ActionColumn>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const ActionColumn& x, const ActionColumn& y) { return x.name == y.name; });
}

/// Joints without limits get infinite ones. A description holds no speeds: the steps of the robot
/// that models know stay limited.
std::vector<ActionColumn> ColumnsOf(const Robot& robot) {
  std::vector<ActionColumn> columns;
  for (const std::string& name : ColumnNames(robot)) {
    const RobotJoint& joint = robot.links[robot.columns[columns.size()]].joint;
    constexpr double kNoLimit = std::numeric_limits<double>::infinity();
    const JointLimits limits = joint.limits.value_or(JointLimits{-kNoLimit, kNoLimit});
    columns.push_back(
        {name, joint.type == JointType::kPrismatic ? ActionUnit::kMeters : ActionUnit::kRadians,
         limits.min, limits.max, 0});
  }
  const std::vector<ActionColumn> known = ColumnsOfBodies();
  for (std::size_t c = 0; HaveEqualNames(columns, known) && c < columns.size(); ++c) {
    columns[c].max_step_change = known[c].max_step_change;
  }
  return columns;
}

void AppendBodies(std::span<const double> state, KinematicRows* rows) {
  for (const Vec3d& point :
       sim::ForwardKinematics(state.first<static_cast<std::size_t>(sim::kStateColumns)>())) {
    rows->points_m.insert(rows->points_m.end(), point.begin(), point.end());
  }
}

StatusOr<KinematicRows> FromJoints(const ActionSequence& actions,
                                   const std::vector<ActionColumn>& columns, const Robot* robot,
                                   const std::string& field) {
  const auto count = static_cast<std::int64_t>(columns.size());
  INTERLACER_RETURN_IF_ERROR(CheckShape(actions, count, field));
  const bool has_bodies = HaveEqualNames(columns, ColumnsOfBodies());
  KinematicRows rows{actions.row_count, has_bodies ? sim::kKinematicPoints : 0, {}, {}};
  for (std::int64_t row = 0; row < actions.row_count; ++row) {
    std::vector<double> state;
    for (std::int64_t c = 0; c < count; ++c) {
      const std::int64_t index = row * count + c;
      INTERLACER_RETURN_IF_ERROR(
          CheckLimits(actions.values[index], columns[c], IndexField(field, index)));
      state.push_back(actions.values[index]);
    }
    if (has_bodies) AppendBodies(state, &rows);
    if (robot != nullptr) rows.link_poses.push_back(LinkPoses(*robot, state));
  }
  return rows;
}

StatusOr<KinematicRows> FromPoints(const ActionSequence& actions, const ModelMetadata& metadata,
                                   const std::string& field) {
  const auto points = static_cast<std::int64_t>(metadata.kinematic_point_names.size());
  INTERLACER_RETURN_IF_ERROR(CheckShape(actions, 3 * points, field));
  for (std::size_t i = 0; i < actions.values.size(); ++i) {
    if (std::abs(actions.values[i]) <= kMaxCoordinateM) continue;
    return Mismatch(reason::ACTION_OUT_OF_RANGE, IndexField(field, static_cast<std::int64_t>(i)),
                    "at most 100 m from the origin", NumberText(actions.values[i]));
  }
  return KinematicRows{actions.row_count, points, actions.values, {}};
}

}  // namespace

void DescribeRobot(const InterlacerConfig& config, const Robot* robot, ModelMetadata* metadata) {
  const bool is_exact = config.robot_motion == RobotMotion::kKinematic;
  const bool shows_surface = config.tokens.robot == RobotTokens::kSurfacePoints;
  const int bodies = config.kinematics.point_count();
  if (robot != nullptr) {
    metadata->robot_model_name = robot->name;
    metadata->action_columns = ColumnsOf(*robot);
  } else if (!shows_surface) {
    metadata->robot_model_name = config.kinematics.robot_model_name;
    if (!is_exact && metadata->robot_model_name == kBimanualKuka &&
        bodies == sim::kKinematicPoints) {
      metadata->action_columns = ColumnsOfBodies();
    }
  }
  const bool has_bodies = bodies == sim::kKinematicPoints &&
                          HaveEqualNames(metadata->action_columns, ColumnsOfBodies());
  metadata->accepts_joint_positions = shows_surface ? robot != nullptr : has_bodies;
  metadata->accepts_kinematic_points = !is_exact && !shows_surface;
  if (!metadata->accepts_kinematic_points) return;
  if (has_bodies) {
    metadata->kinematic_point_names = sim::KinematicPointNames();
    return;
  }
  for (int point = 0; point < bodies; ++point) {
    metadata->kinematic_point_names.push_back("point_" + std::to_string(point));
  }
}

StatusOr<KinematicRows> ToKinematicRows(const ActionSequence& actions,
                                        const ModelMetadata& metadata, const Robot* robot,
                                        const std::string& field) {
  switch (actions.kind) {
    case ActionKind::kNone:
      break;
    case ActionKind::kJointPositions:
      if (robot != nullptr) return FromJoints(actions, ColumnsOf(*robot), robot, field);
      if (metadata.accepts_joint_positions) {
        return FromJoints(actions, metadata.action_columns, nullptr, field);
      }
      return Mismatch(reason::ACTION_KIND, field + ".kind",
                      metadata.accepts_kinematic_points
                          ? "kinematic_points_m"
                          : "none, as there is no robot folder that says where joints move links",
                      "joint_positions");
    case ActionKind::kKinematicPoints:
      if (metadata.accepts_kinematic_points) return FromPoints(actions, metadata, field);
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

Status CheckRobotTokens(const InterlacerConfig& config, const Robot* robot,
                        const KinematicRows& rows) {
  if (config.tokens.robot == RobotTokens::kLimbs) {
    if (rows.point_count == config.kinematics.point_count()) return Status();
    return Mismatch(reason::ACTION_KIND, "robot",
                    "the model's own: its tokens show the bodies of no other",
                    robot == nullptr ? "none" : robot->name);
  }
  const auto neighbors = static_cast<std::size_t>(LocalNeighborCount(config));
  if (config.graph.scope == GraphScope::kAll || robot->surface.size() > neighbors) return Status();
  return Mismatch(reason::ARGUMENT_INVALID, "robot.surface",
                  "more than " + std::to_string(neighbors) + " points",
                  std::to_string(robot->surface.size()));
}

KinematicRows JoinRows(KinematicRows first, const KinematicRows& then) {
  first.row_count += then.row_count;
  first.points_m.insert(first.points_m.end(), then.points_m.begin(), then.points_m.end());
  first.link_poses.insert(first.link_poses.end(), then.link_poses.begin(), then.link_poses.end());
  return first;
}

}  // namespace interlacer
