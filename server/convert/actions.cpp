#include "server/convert/actions.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <numbers>
#include <string>

#include "common/checked_math.h"
#include "common/joint_limits.h"
#include "common/number_text.h"
#include "common/scene_limits.h"
#include "common/step_changes.h"
#include "common/values_of_bytes.h"

namespace interlacer {
namespace {

constexpr double kTurnsRad[] = {-2 * std::numbers::pi, 2 * std::numbers::pi};

std::int64_t ExpectedColumns(ActionKind kind, const ModelMetadata& metadata) {
  return kind == ActionKind::kJointPositions
             ? static_cast<std::int64_t>(metadata.action_columns.size())
             : 3 * static_cast<std::int64_t>(metadata.kinematic_point_names.size());
}

std::string CellText(std::int64_t row, std::int64_t column) {
  return "row " + std::to_string(row) + ", column " + std::to_string(column);
}

Status CheckShape(const wire::FloatMatrix& matrix, std::int64_t expected_columns) {
  if (matrix.row_count() < 0) {
    return Mismatch(reason::ACTION_SHAPE, "row_count", "0 or more",
                    std::to_string(matrix.row_count()));
  }
  if (matrix.column_count() != expected_columns) {
    return Mismatch(reason::ACTION_SHAPE, "column_count", std::to_string(expected_columns),
                    std::to_string(matrix.column_count()));
  }
  const auto bytes = CheckedProduct({matrix.row_count(), matrix.column_count(), sizeof(float)});
  if (!bytes || static_cast<std::size_t>(*bytes) != matrix.values_f32le().size()) {
    return Mismatch(reason::ACTION_SHAPE, "values_f32le",
                    bytes ? std::to_string(*bytes) + " bytes" : "fewer bytes",
                    std::to_string(matrix.values_f32le().size()) + " bytes");
  }
  return Status::Ok();
}

Status CheckFinite(const ActionSequence& actions) {
  for (std::size_t i = 0; i < actions.values.size(); ++i) {
    if (std::isfinite(actions.values[i])) continue;
    return Mismatch(reason::ACTION_NOT_FINITE, "values_f32le", "finite values",
                    std::to_string(actions.values[i]) + " at " +
                        CellText(i / actions.column_count, i % actions.column_count));
  }
  return Status::Ok();
}

Status CheckRanges(const ActionSequence& actions, const ModelMetadata& metadata) {
  for (std::size_t i = 0; i < actions.values.size(); ++i) {
    const std::int64_t column_index = static_cast<std::int64_t>(i) % actions.column_count;
    const ActionColumn& column = metadata.action_columns[column_index];
    const float value = actions.values[i];
    if (IsWithinJointLimits(value, column.min_value, column.max_value)) continue;
    const bool is_wrapped =
        std::any_of(std::begin(kTurnsRad), std::end(kTurnsRad), [&](double turn) {
          return IsWithinJointLimits(value + turn, column.min_value, column.max_value);
        });
    return Mismatch(reason::ACTION_OUT_OF_RANGE, "values_f32le",
                    column.name + " from " + std::to_string(column.min_value) + " to " +
                        std::to_string(column.max_value) + kJointSlackText,
                    std::to_string(value) + " at " +
                        CellText(i / actions.column_count, column_index) +
                        WrapHint(column, is_wrapped));
  }
  return Status::Ok();
}

Status CheckCoordinates(const ActionSequence& points) {
  for (std::size_t i = 0; i < points.values.size(); ++i) {
    if (std::abs(points.values[i]) <= kMaxRobotCoordinateM) continue;
    return Mismatch(reason::ACTION_OUT_OF_RANGE, "values_f32le",
                    "within " + NumberText(kMaxRobotCoordinateM) + " m of the origin",
                    NumberText(points.values[i]) + " at " +
                        CellText(i / points.column_count, i % points.column_count));
  }
  return Status::Ok();
}

}  // namespace

const char* KindName(ActionKind kind) {
  switch (kind) {
    case ActionKind::kJointPositions:
      return "joint_positions";
    case ActionKind::kKinematicPoints:
      return "kinematic_points_m";
    case ActionKind::kNone:
      break;
  }
  return "none";
}

StatusOr<ActionSequence> ToActionSequence(const wire::ActionSequence& sequence,
                                          const ModelMetadata& metadata) {
  if (sequence.kind_case() == wire::ActionSequence::KIND_NOT_SET) return ActionSequence{};
  const bool is_joints = sequence.has_joint_positions();
  const char* field = is_joints ? "joint_positions" : "kinematic_points_m";
  if (!(is_joints ? metadata.accepts_joint_positions : metadata.accepts_kinematic_points)) {
    return Mismatch(reason::ACTION_KIND, field,
                    is_joints ? "kinematic_points_m" : "joint_positions", field);
  }
  const wire::FloatMatrix& matrix =
      is_joints ? sequence.joint_positions() : sequence.kinematic_points_m();

  ActionSequence actions;
  actions.kind = is_joints ? ActionKind::kJointPositions : ActionKind::kKinematicPoints;
  if (Status status = CheckShape(matrix, ExpectedColumns(actions.kind, metadata)); !status.ok()) {
    return std::move(status).WithFieldPrefix(field);
  }
  actions.row_count = matrix.row_count();
  actions.column_count = matrix.column_count();
  actions.values = ValuesOfBytes<float>(matrix.values_f32le());

  Status status = CheckFinite(actions);
  if (status.ok()) status = is_joints ? CheckRanges(actions, metadata) : CheckCoordinates(actions);
  if (!status.ok()) return std::move(status).WithFieldPrefix(field);
  return actions;
}

}  // namespace interlacer
