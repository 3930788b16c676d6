#include "common/step_changes.h"

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>

namespace interlacer {
namespace {

/// Tolerance for rows that were rounded to float32.
constexpr double kFloatRounding = 1e-6;

}  // namespace

Status CheckStepChanges(const ActionSequence& history, const ActionSequence& actions,
                        std::span<const ActionColumn> columns) {
  const auto width = static_cast<std::int64_t>(columns.size());
  if (actions.kind != ActionKind::kJointPositions || history.kind != actions.kind ||
      history.row_count == 0 || history.column_count != width || actions.column_count != width) {
    return Status::Ok();
  }
  const float* previous = history.values.data() + (history.row_count - 1) * width;
  for (std::int64_t row = 0; row < actions.row_count; ++row) {
    const float* current = actions.values.data() + row * width;
    for (std::int64_t c = 0; c < width; ++c) {
      const ActionColumn& column = columns[static_cast<std::size_t>(c)];
      const double change = std::abs(double{current[c]} - double{previous[c]});
      if (column.max_step_change > 0 && change > column.max_step_change + kFloatRounding) {
        return Mismatch(
            reason::ACTION_OUT_OF_RANGE, "joint_positions.values_f32le",
            column.name + " changes by at most " + std::to_string(column.max_step_change),
            std::to_string(change) + " at row " + std::to_string(row) + ", column " +
                std::to_string(c) + WrapHint(column, change > std::numbers::pi));
      }
    }
    previous = current;
  }
  return Status::Ok();
}

}  // namespace interlacer
