#pragma once

/// Parses intrinsics as sources give them: numbers, a camera's name, or Open3D's JSON with its
/// column-major matrix.
///
/// Named cameras are the colour cameras in the documentation of the TUM RGB-D benchmark: tum-fr1,
/// tum-fr2, tum-fr3, and tum-ros, the driver's default without lens model.
/// Two negative focal lengths are a camera turned by 180 degrees about its axis and are turned
/// back; a single one would be a mirror image and is refused.
/// Errors: INVALID_ARGUMENT NO_CALIBRATION (nothing given), CALIBRATION_INVALID. Thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/camera.h"
#include "common/status.h"

namespace interlacer {

/// "fx,fy,cx,cy", with ",k1,k2,p1,p2,k3" (plumb bob) or these and ",k4,k5,k6" (rational) behind,
/// a camera's name, or the path of {"width", "height", "intrinsic_matrix"}; without a size in the
/// text, width and height stay 0.
StatusOr<Camera> ParseIntrinsics(const std::string& text);

/// {"width", "height", "intrinsic_matrix": 9 numbers, column by column}.
StatusOr<Camera> ParseOpen3DIntrinsics(const nlohmann::json& value, const std::string& path);

/// Makes both focal lengths positive by a roll of the camera; one negative alone is refused.
Status NormalizeFocalSigns(Camera* camera);

}  // namespace interlacer
