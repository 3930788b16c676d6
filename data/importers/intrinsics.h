#pragma once

/// Parses intrinsics as sources give them: numbers, a camera's name, or a JSON file of Open3D.
///
/// Named cameras are the colour cameras in the documentation of the TUM RGB-D benchmark: tum-fr1,
/// tum-fr2, tum-fr3, and tum-ros, the driver's default without lens model; all have 640 x 480
/// pixels.
/// JSON is what Open3D writes: PinholeCameraIntrinsic, the intrinsic.json of its device readers,
/// PinholeCameraParameters (intrinsics one level down) and PinholeCameraTrajectory (one camera
/// repeated). Its matrices are column-major; a list of rows ([[fx,0,cx],...]) says by its form what
/// it is.
/// Two negative focal lengths are a camera turned by 180 degrees about its axis and are turned
/// back; a single one would be a mirror image and is refused.
/// Errors: INVALID_ARGUMENT NO_CALIBRATION (nothing given), CALIBRATION_INVALID. Thread-safe.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/camera.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

class JsonObject;  // common/json.h

/// A camera, and the unit of its depth images where the file names it ("depth_scale", integers a
/// metre, of RealSense cameras).
struct Intrinsics : Camera {
  std::optional<double> depth_unit_m;
};

/// "fx,fy,cx,cy", with ",k1,k2,p1,p2,k3" (plumb bob) or these and ",k4,k5,k6" (rational) behind,
/// a camera's name, or the path of a JSON file; numbers have no size, width and height stay 0.
StatusOr<Intrinsics> ParseIntrinsics(const std::string& text);

/// Of the options --intrinsics or --calibration; the file of the latter has one camera without
/// pose.
StatusOr<Intrinsics> GivenIntrinsics(const std::string& intrinsics, const std::string& calibration);

/// An object of any of the forms above.
StatusOr<Intrinsics> ParseOpen3DIntrinsics(const JsonObject& object);

/// A matrix of side x side numbers, column by column as Open3D writes it or a list of rows; given
/// row by row.
StatusOr<std::vector<double>> ReadOpen3DMatrix(const JsonObject& object, std::string_view key,
                                               std::size_t side);

/// Whether both have the same size and the same focal lengths and principal point.
bool HasSamePinhole(const Camera& a, const Camera& b);

/// The finding PRINCIPAL_POINT_OFF_CENTER, which cropping and the intrinsics of another image size
/// give. Cropped images may have the principal point outside; one farther away is a mistake in the
/// numbers: CALIBRATION_INVALID.
StatusOr<std::optional<Finding>> CheckPrincipalPoint(const Camera& camera,
                                                     const std::string& field);

/// Makes both focal lengths positive by a roll of the camera; one negative alone is refused.
Status NormalizeFocalSigns(Camera* camera);

}  // namespace interlacer
