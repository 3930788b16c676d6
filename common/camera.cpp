#include "common/camera.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <utility>

#include "common/number_text.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kUndistortTolerance = 1e-10;
constexpr int kUndistortIterations = 50;
/// Bounds of cameras whose rays keep their length and place in float32: wide of anything that is
/// built.
constexpr double kMinFocalPx = 1e-2;
constexpr double kMaxFocalPx = 1e7;
constexpr double kMaxCenterPx = 1e7;
constexpr double kMaxCameraDistanceM = 1e4;
/// A lens model is usable if undistorting a pixel and distorting it again returns this close.
constexpr double kPixelRoundTripPx = 1e-3;
/// A pixel shows a point if its ray and that of the point (x/z, y/z) differ by less.
constexpr double kSameRayTolerance = 1e-6;
/// Places between the centre and a ray at which a lens model is asked whether it turns over.
constexpr int kTurnSteps = 64;

std::size_t CoefficientCount(DistortionModel model) {
  switch (model) {
    case DistortionModel::kNone:
      return 0;
    case DistortionModel::kPlumbBob:
      return 5;
    case DistortionModel::kRationalPolynomial:
      return 8;
  }
  return 0;
}

struct Distorted {
  double x, y;                        // distorted coordinates
  double dx_dx, dx_dy, dy_dx, dy_dy;  // and their Jacobian
};

/// x' = x f + 2 p1 x y + p2 (r2 + 2 x^2), y' = y f + p1 (r2 + 2 y^2) + 2 p2 x y with
/// f = (1 + k1 r2 + k2 r4 + k3 r6) / (1 + k4 r2 + k5 r4 + k6 r6).
Distorted Distort(const std::vector<double>& k, double x, double y) {
  const double k1 = k[0], k2 = k[1], p1 = k[2], p2 = k[3], k3 = k[4];
  const bool rational = k.size() == 8;
  const double k4 = rational ? k[5] : 0, k5 = rational ? k[6] : 0, k6 = rational ? k[7] : 0;
  const double r2 = x * x + y * y;
  const double numerator = 1 + r2 * (k1 + r2 * (k2 + r2 * k3));
  const double denominator = 1 + r2 * (k4 + r2 * (k5 + r2 * k6));
  const double f = numerator / denominator;
  const double df_dr2 =
      ((k1 + r2 * (2 * k2 + 3 * r2 * k3)) - f * (k4 + r2 * (2 * k5 + 3 * r2 * k6))) / denominator;
  Distorted d;
  d.x = x * f + 2 * p1 * x * y + p2 * (r2 + 2 * x * x);
  d.y = y * f + p1 * (r2 + 2 * y * y) + 2 * p2 * x * y;
  d.dx_dx = f + 2 * x * x * df_dr2 + 2 * p1 * y + 6 * p2 * x;
  d.dx_dy = 2 * x * y * df_dr2 + 2 * p1 * x + 2 * p2 * y;
  d.dy_dx = d.dx_dy;
  d.dy_dy = f + 2 * y * y * df_dr2 + 6 * p1 * y + 2 * p2 * x;
  return d;
}

std::array<double, 2> PixelOfRay(const Camera& camera, double x, double y) {
  if (camera.distortion_model != DistortionModel::kNone) {
    const Distorted d = Distort(camera.distortion_coefficients, x, y);
    x = d.x;
    y = d.y;
  }
  return {camera.fx_px * x + camera.cx_px, camera.fy_px * y + camera.cy_px};
}

/// Whether the lens model turns over on the way from the centre to the ray (x, y), which then is
/// not the one that the lens sees, whatever becomes of the polynomial farther out.
bool IsBeyondTurn(const Camera& camera, double x, double y) {
  for (int i = 1; i <= kTurnSteps; ++i) {
    const double part = static_cast<double>(i) / kTurnSteps;
    const Distorted d = Distort(camera.distortion_coefficients, part * x, part * y);
    const bool is_upright =
        d.dx_dx * d.dy_dy - d.dx_dy * d.dy_dx > 0 && d.x * x + d.y * y >= 0;  // false for NaN
    if (!is_upright) return true;
  }
  return false;
}

Status ValidateDistortion(const Camera& camera) {
  const auto& k = camera.distortion_coefficients;
  const std::size_t expected = CoefficientCount(camera.distortion_model);
  if (k.size() != expected) {
    return Mismatch(reason::DISTORTION_INVALID, "distortion.coefficients",
                    std::to_string(expected) + " numbers", std::to_string(k.size()));
  }
  if (!std::all_of(k.begin(), k.end(), [](double c) { return std::isfinite(c); })) {
    return Mismatch(reason::DISTORTION_INVALID, "distortion.coefficients", "finite numbers",
                    "a number that is not finite");
  }
  if (camera.distortion_model == DistortionModel::kNone) return Status::Ok();
  // Corners have the largest radius, where a polynomial lens model turns over first. Undistorting
  // may find a ray behind the turn, which leads to the same pixel.
  for (double u : {0.0, camera.width_px - 1.0}) {
    for (double v : {0.0, camera.height_px - 1.0}) {
      const auto ray = UndistortPixel(camera, u, v);
      const auto pixel = PixelOfRay(camera, ray[0], ray[1]);
      const double error_px = std::hypot(pixel[0] - u, pixel[1] - v);
      const bool is_inverted = error_px <= kPixelRoundTripPx;
      if (is_inverted && !IsBeyondTurn(camera, ray[0], ray[1])) continue;
      return Mismatch(reason::DISTORTION_INVALID, "distortion.coefficients",
                      "a lens model that can be inverted up to the image corners",
                      (is_inverted ? "one that turns over before"
                                   : "an error of " + NumberText(error_px) + " px at") +
                          std::string(" pixel (") + NumberText(u) + ", " + NumberText(v) + ")");
    }
  }
  return Status::Ok();
}

}  // namespace

Status ValidateCamera(const Camera& camera) {
  if (camera.width_px < 1 || camera.height_px < 1) {
    return Mismatch(reason::CALIBRATION_INVALID, "width_px, height_px", "at least 1 x 1",
                    std::to_string(camera.width_px) + " x " + std::to_string(camera.height_px));
  }
  const struct {
    const char* name;
    double value;
  } focal[] = {{"fx_px", camera.fx_px}, {"fy_px", camera.fy_px}};
  for (const auto& f : focal) {
    if (!(f.value >= kMinFocalPx && f.value <= kMaxFocalPx)) {
      return Mismatch(reason::CALIBRATION_INVALID, f.name,
                      NumberText(kMinFocalPx) + " to " + NumberText(kMaxFocalPx),
                      NumberText(f.value));
    }
  }
  for (const auto& [name, value] :
       {std::pair{"cx_px", camera.cx_px}, std::pair{"cy_px", camera.cy_px}}) {
    if (!(std::abs(value) <= kMaxCenterPx)) {
      return Mismatch(reason::CALIBRATION_INVALID, name,
                      "within " + NumberText(kMaxCenterPx) + " of 0", NumberText(value));
    }
  }
  INTERLACER_RETURN_IF_ERROR(ValidateDistortion(camera));
  if (Status status = ValidateTransform(camera.world_from_camera); !status.ok()) {
    return std::move(status).WithFieldPrefix("world_from_camera");
  }
  for (const double coordinate_m : camera.world_from_camera.translation_m) {
    if (std::abs(coordinate_m) <= kMaxCameraDistanceM) continue;
    return Mismatch(reason::CALIBRATION_INVALID, "world_from_camera.translation_m",
                    "within " + NumberText(kMaxCameraDistanceM) + " m of the origin",
                    NumberText(coordinate_m) + " m");
  }
  return Status::Ok();
}

Camera ResizedCamera(const Camera& camera, int width_px, int height_px) {
  const double sx = static_cast<double>(width_px) / camera.width_px;
  const double sy = static_cast<double>(height_px) / camera.height_px;
  Camera resized = camera;
  resized.width_px = width_px;
  resized.height_px = height_px;
  resized.fx_px = camera.fx_px * sx;
  resized.fy_px = camera.fy_px * sy;
  // Pixel centres are at integers, so the image spans -0.5 ... width - 0.5.
  resized.cx_px = (camera.cx_px + 0.5) * sx - 0.5;
  resized.cy_px = (camera.cy_px + 0.5) * sy - 0.5;
  return resized;
}

Camera RectifiedCamera(Camera camera) {
  camera.distortion_model = DistortionModel::kNone;
  camera.distortion_coefficients.clear();
  return camera;
}

std::array<double, 2> UndistortPixel(const Camera& camera, double u_px, double v_px) {
  const double target_x = (u_px - camera.cx_px) / camera.fx_px;
  const double target_y = (v_px - camera.cy_px) / camera.fy_px;
  if (camera.distortion_model == DistortionModel::kNone) return {target_x, target_y};
  double x = target_x, y = target_y;
  for (int i = 0; i < kUndistortIterations; ++i) {  // Newton
    const Distorted d = Distort(camera.distortion_coefficients, x, y);
    const double ex = d.x - target_x, ey = d.y - target_y;
    // Solves J step = error with the inverse of the 2 x 2 Jacobian.
    const double determinant = d.dx_dx * d.dy_dy - d.dx_dy * d.dy_dx;
    const double step_x = (d.dy_dy * ex - d.dx_dy * ey) / determinant;
    const double step_y = (d.dx_dx * ey - d.dy_dx * ex) / determinant;
    x -= step_x;
    y -= step_y;
    if (std::abs(step_x) + std::abs(step_y) < kUndistortTolerance) break;
  }
  return {x, y};
}

Vec3d Unproject(const Camera& camera, double u_px, double v_px, double depth_m) {
  const auto ray = UndistortPixel(camera, u_px, v_px);
  return Apply(camera.world_from_camera, {ray[0] * depth_m, ray[1] * depth_m, depth_m});
}

ProjectedPixel Project(const Camera& camera, const Vec3d& point_world_m) {
  const Vec3d p = Apply(Inverse(camera.world_from_camera), point_world_m);
  const double x = p[0] / p[2], y = p[1] / p[2];
  const auto [u_px, v_px] = PixelOfRay(camera, x, y);
  if (camera.distortion_model != DistortionModel::kNone) {
    const auto seen = UndistortPixel(camera, u_px, v_px);
    const double difference = std::hypot(seen[0] - x, seen[1] - y);
    if (!(difference <= kSameRayTolerance * (1 + std::hypot(x, y)))) return {kNaN, kNaN, p[2]};
  }
  return {u_px, v_px, p[2]};
}

}  // namespace interlacer
