#pragma once

/// Robot states of a request, checked against what the model accepts.
///
/// Errors: INVALID_ARGUMENT ACTION_KIND, ACTION_SHAPE, ACTION_NOT_FINITE, ACTION_OUT_OF_RANGE with
/// paths relative to the sequence, such as `joint_positions.values_f32le`. Thread-safe.

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "server/convert/wire.h"

namespace interlacer {

/// A sequence without a kind becomes ActionKind::kNone: a scene without a robot. Shape, values and
/// ranges are checked.
StatusOr<ActionSequence> ToActionSequence(const wire::ActionSequence& sequence,
                                          const ModelMetadata& metadata);

/// Largest change from row to row, over the history's last row and the plan; only for joints.
Status CheckStepChanges(const ActionSequence& history, const ActionSequence& actions,
                        const ModelMetadata& metadata);

}  // namespace interlacer
