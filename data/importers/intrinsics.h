#pragma once

/// Parses intrinsics as sources give them: numbers, a camera's name, or a JSON file of Open3D.
///
/// Named cameras are the colour cameras in the documentation of the TUM RGB-D benchmark: tum-fr1,
/// tum-fr2, tum-fr3, and tum-ros, the driver's default without lens model; all have 640 x 480
/// pixels.
/// JSON is what Open3D writes: PinholeCameraIntrinsic, the intrinsic.json of its device readers,
/// PinholeCameraParameters (intrinsics one level down) and PinholeCameraTrajectory (one camera
/// repeated). Its matrix is column-major; a list of rows ([[fx,0,cx],...]) says by its form what it
/// is.
/// Two negative focal lengths are a camera turned by 180 degrees about its axis and are turned
/// back; a single one would be a mirror image and is refused.
/// Errors: INVALID_ARGUMENT NO_CALIBRATION (nothing given), CALIBRATION_INVALID. Thread-safe.

#include <string>

#include "common/camera.h"
#include "common/status.h"

namespace interlacer {

class JsonObject;  // common/json.h

/// "fx,fy,cx,cy", with ",k1,k2,p1,p2,k3" (plumb bob) or these and ",k4,k5,k6" (rational) behind,
/// a camera's name, or the path of a JSON file; numbers have no size, width and height stay 0.
StatusOr<Camera> ParseIntrinsics(const std::string& text);

/// An object of any of the forms above.
StatusOr<Camera> ParseOpen3DIntrinsics(const JsonObject& object);

/// Whether both have the same size and the same focal lengths and principal point.
bool HasSamePinhole(const Camera& a, const Camera& b);

/// Makes both focal lengths positive by a roll of the camera; one negative alone is refused.
Status NormalizeFocalSigns(Camera* camera);

}  // namespace interlacer
