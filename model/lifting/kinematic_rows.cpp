#include "model/lifting/kinematic_rows.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "data/sim/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr char kBimanualKuka[] = "kuka_iiwa_bimanual";
/// Measured joints may exceed their limits slightly.
constexpr double kRangeSlack = 0.02;
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

Status CheckWithin(float value, double low, double high, const std::string& field) {
  if (value >= low && value <= high) return Status();
  return Mismatch(reason::ACTION_OUT_OF_RANGE, field,
                  std::to_string(low) + ".." + std::to_string(high), std::to_string(value));
}

StatusOr<KinematicRows> FromJoints(const ActionSequence& actions, const ModelMetadata& metadata,
                                   const std::string& field) {
  const auto columns = static_cast<std::int64_t>(metadata.action_columns.size());
  INTERLACER_RETURN_IF_ERROR(CheckShape(actions, columns, field));
  KinematicRows rows{actions.row_count, sim::kKinematicPoints, {}};
  for (std::int64_t row = 0; row < actions.row_count; ++row) {
    sim::RobotState state{};
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t index = row * columns + c;
      const ActionColumn& column = metadata.action_columns[c];
      const double slack = kRangeSlack * (column.max_value - column.min_value);
      INTERLACER_RETURN_IF_ERROR(CheckWithin(actions.values[index], column.min_value - slack,
                                             column.max_value + slack, IndexField(field, index)));
      state[c] = actions.values[index];
    }
    for (const Vec3d& point : sim::ForwardKinematics(state)) {
      for (const double coordinate : point) {
        rows.points_m.push_back(static_cast<float>(coordinate));
      }
    }
  }
  return rows;
}

StatusOr<KinematicRows> FromPoints(const ActionSequence& actions, const ModelMetadata& metadata,
                                   const std::string& field) {
  const auto points = static_cast<std::int64_t>(metadata.kinematic_point_names.size());
  INTERLACER_RETURN_IF_ERROR(CheckShape(actions, 3 * points, field));
  for (std::size_t i = 0; i < actions.values.size(); ++i) {
    INTERLACER_RETURN_IF_ERROR(CheckWithin(actions.values[i], -kMaxCoordinateM, kMaxCoordinateM,
                                           IndexField(field, static_cast<std::int64_t>(i))));
  }
  return KinematicRows{actions.row_count, points, actions.values};
}

}  // namespace

void DescribeRobot(const std::string& robot_model_name, int point_count, ModelMetadata* metadata) {
  metadata->robot_model_name = robot_model_name;
  metadata->accepts_kinematic_points = true;
  if (robot_model_name == kBimanualKuka && point_count == sim::kKinematicPoints) {
    metadata->accepts_joint_positions = true;
    metadata->kinematic_point_names = sim::KinematicPointNames();
    for (const sim::StateColumn& column : sim::StateColumns()) {
      metadata->action_columns.push_back(
          {column.name, column.unit == "m" ? ActionUnit::kMeters : ActionUnit::kRadians, column.min,
           column.max, column.max_change_per_step});
    }
    return;
  }
  for (int point = 0; point < point_count; ++point) {
    metadata->kinematic_point_names.push_back("point_" + std::to_string(point));
  }
}

StatusOr<KinematicRows> ToKinematicRows(const ActionSequence& actions,
                                        const ModelMetadata& metadata, const std::string& field) {
  switch (actions.kind) {
    case ActionKind::kNone:
      break;
    case ActionKind::kJointPositions:
      if (!metadata.accepts_joint_positions) {
        return Mismatch(reason::ACTION_KIND, field + ".kind", "kinematic_points_m",
                        "joint_positions");
      }
      return FromJoints(actions, metadata, field);
    case ActionKind::kKinematicPoints:
      return FromPoints(actions, metadata, field);
  }
  if (actions.row_count != 0 || !actions.values.empty()) {
    return Mismatch(reason::ACTION_SHAPE, field, "no rows for a scene without a robot",
                    std::to_string(actions.row_count) + " rows");
  }
  return KinematicRows{};
}

}  // namespace interlacer
