#pragma once

/// A pinhole camera with lens model, for images of a stated size.
///
/// Optical frame: x right, y down, z forward. Integer pixel (u,v) = (column,row) has its centre at
/// (u,v). Depth is z along the optical axis, not ray length.
/// Errors: INVALID_ARGUMENT CALIBRATION_INVALID, DISTORTION_INVALID, QUATERNION_NOT_UNIT.
/// Thread-safety: value type, pure functions.

#include <array>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"

namespace interlacer {

enum class DistortionModel { kNone, kPlumbBob, kRationalPolynomial };

struct Camera {
  int width_px = 0;
  int height_px = 0;
  double fx_px = 0;
  double fy_px = 0;
  double cx_px = 0;
  double cy_px = 0;
  DistortionModel distortion_model = DistortionModel::kNone;
  /// k1 k2 p1 p2 k3 (plumb bob) or k1 k2 p1 p2 k3 k4 k5 k6 (rational polynomial).
  std::vector<double> distortion_coefficients;
  Transform world_from_camera;
  bool operator==(const Camera&) const = default;
};

/// Refuses lens models that turn over inside the image, whose pixels beyond have no ray.
Status ValidateCamera(const Camera& camera);

/// Same camera for an image resized to the given size: cx becomes (cx + 0.5) s - 0.5.
Camera ResizedCamera(const Camera& camera, int width_px, int height_px);

/// The same pinhole without its lens model: the camera of a rendered view.
Camera RectifiedCamera(Camera camera);

/// Undistorted image-plane coordinates (x/z, y/z) of a pixel; iterates the lens model to 1e-10.
std::array<double, 2> UndistortPixel(const Camera& camera, double u_px, double v_px);

/// World point of a pixel with depth z.
Vec3d Unproject(const Camera& camera, double u_px, double v_px, double depth_m);

struct ProjectedPixel {
  double u_px = 0;
  double v_px = 0;
  double depth_m = 0;  ///< z in the camera frame; <= 0 is behind the camera
};
/// NaN beyond where the lens model turns over: there it comes back into the image with rays that
/// the lens does not see, as the pixel has another one.
ProjectedPixel Project(const Camera& camera, const Vec3d& point_world_m);

}  // namespace interlacer
