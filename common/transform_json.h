#pragma once

/// A rigid transform as JSON: {"translation_m": [3], "rotation_xyzw": [4]}. Frames and units:
/// common/geometry.h. Errors: those of JsonObject; whether the quaternion is one is not checked.
/// Pure functions, thread-safe.

#include "common/geometry.h"
#include "common/json.h"

namespace interlacer {

nlohmann::ordered_json TransformToJson(const Transform& transform);
/// Further keys are the caller's to refuse.
StatusOr<Transform> TransformFromJson(const JsonObject& object);

}  // namespace interlacer
