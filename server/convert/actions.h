#pragma once

/// Converts the robot states of a request, checked against the model's contract.
///
/// Errors: INVALID_ARGUMENT ACTION_KIND, ACTION_SHAPE, ACTION_NOT_FINITE, ACTION_OUT_OF_RANGE with
/// paths relative to the sequence, such as `joint_positions.values_f32le`. Thread-safe.

#include "common/model_metadata.h"
#include "common/scene.h"
#include "common/status.h"
#include "server/convert/wire.h"

namespace interlacer {

/// The field of a kind, or "none".
const char* KindName(ActionKind kind);

/// A sequence without a kind becomes ActionKind::kNone: a scene without a robot. Checks shape,
/// values and ranges.
StatusOr<ActionSequence> ToActionSequence(const wire::ActionSequence& sequence,
                                          const ModelMetadata& metadata);

}  // namespace interlacer
