#pragma once

/// The one rule for how far commands may ask a joint to move in a step, for servers and for
/// predictions in this process. Pure functions, thread-safe.

#include <span>

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

/// Checks the change from row to row, over the history's last row and the plan, against
/// ActionColumn::max_step_change of `columns`. Rows of joints alone; rows of another kind or width
/// pass, which other checks refuse.
/// Errors: INVALID_ARGUMENT ACTION_OUT_OF_RANGE at `joint_positions.values_f32le`, the path in a
/// request's sequence.
Status CheckStepChanges(const ActionSequence& history, const ActionSequence& actions,
                        std::span<const ActionColumn> columns);

/// What would help where a joint turns past one turn and a driver does not say so.
inline const char* WrapHint(const ActionColumn& column, bool is_wrapped) {
  return column.unit == ActionUnit::kRadians && is_wrapped ? " (wrapped to one turn?)" : "";
}

}  // namespace interlacer
