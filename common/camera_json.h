#pragma once

/// The pinhole of a camera in JSON: width_px, height_px, fx_px, fy_px, cx_px, cy_px. Errors: those
/// of common/json.h; values are not checked. Thread-safe.

#include "common/camera.h"
#include "common/json.h"

namespace interlacer {

Status ReadPinhole(const JsonObject& object, Camera* camera);
/// Adds the fields to `json`.
void WritePinhole(const Camera& camera, nlohmann::ordered_json* json);

}  // namespace interlacer
