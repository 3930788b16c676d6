#pragma once

/// Intrinsics as sources give them: four numbers, or Open3D's JSON with its column-major matrix.
///
/// Two negative focal lengths are a camera turned by 180 degrees about its axis and are turned
/// back; a single one would be a mirror image and is refused.
/// Errors: INVALID_ARGUMENT NO_CALIBRATION (nothing given), CALIBRATION_INVALID. Thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/camera.h"
#include "common/status.h"

namespace interlacer {

/// "fx,fy,cx,cy" or the path of {"width", "height", "intrinsic_matrix"}; without a size in the
/// text, width and height stay 0.
StatusOr<Camera> ParseIntrinsics(const std::string& text);

/// {"width", "height", "intrinsic_matrix": 9 numbers, column by column}.
StatusOr<Camera> ParseOpen3DIntrinsics(const nlohmann::json& value, const std::string& path);

/// Makes both focal lengths positive by a roll of the camera; one negative alone is refused.
Status NormalizeFocalSigns(Camera* camera);

}  // namespace interlacer
