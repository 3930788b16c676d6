#include "server/convert/calibration.h"

#include <cmath>
#include <string>
#include <utility>

#include "common/duration.h"
#include "common/scene_limits.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

/// Leaves a margin for the times of predicted steps.
constexpr std::int64_t kMaxSeconds = INT64_MAX / kNanosecondsPerSecond - 1'000'000;

Status CheckFinite(std::initializer_list<std::pair<const char*, double>> fields) {
  for (const auto& [field, value] : fields) {
    if (!std::isfinite(value)) {
      return Mismatch(reason::CALIBRATION_INVALID, field, "a finite number", std::to_string(value));
    }
  }
  return Status::Ok();
}

Status CheckSize(const wire::CameraCalibration& c) {
  for (const auto& [field, side_px] :
       {std::pair{"width_px", c.width_px()}, std::pair{"height_px", c.height_px()}}) {
    if (side_px < 1) {
      return Mismatch(reason::CALIBRATION_INVALID, field, "at least 1", std::to_string(side_px));
    }
  }
  return Status::Ok();
}

StatusOr<DistortionModel> ToDistortionModel(const wire::CameraCalibration& c) {
  int expected_count = 0;
  DistortionModel model = DistortionModel::kNone;
  switch (c.distortion_model()) {
    case wire::DISTORTION_MODEL_NONE:
      break;
    case wire::DISTORTION_MODEL_PLUMB_BOB:
      model = DistortionModel::kPlumbBob;
      expected_count = 5;
      break;
    case wire::DISTORTION_MODEL_RATIONAL_POLYNOMIAL:
      model = DistortionModel::kRationalPolynomial;
      expected_count = 8;
      break;
    default:
      return Mismatch(reason::DISTORTION_INVALID, "distortion_model",
                      "NONE, PLUMB_BOB or RATIONAL_POLYNOMIAL",
                      std::to_string(c.distortion_model()));
  }
  if (c.distortion_coefficients_size() != expected_count) {
    return Mismatch(reason::DISTORTION_INVALID, "distortion_coefficients",
                    std::to_string(expected_count) + " coefficients",
                    std::to_string(c.distortion_coefficients_size()));
  }
  for (int i = 0; i < expected_count; ++i) {
    if (!std::isfinite(c.distortion_coefficients(i))) {
      return Mismatch(reason::DISTORTION_INVALID,
                      "distortion_coefficients[" + std::to_string(i) + "]", "a finite number",
                      std::to_string(c.distortion_coefficients(i)));
    }
  }
  return model;
}

StatusOr<Transform> ToTransform(const wire::Transform& t) {
  if (!t.has_translation_m()) {
    return Mismatch(reason::CALIBRATION_INVALID, "translation_m", "a vector", "nothing");
  }
  if (!t.has_rotation()) {
    return Mismatch(reason::QUATERNION_NOT_UNIT, "rotation", "a unit quaternion", "nothing");
  }
  INTERLACER_RETURN_IF_ERROR(CheckFinite({{"translation_m.x", t.translation_m().x()},
                                          {"translation_m.y", t.translation_m().y()},
                                          {"translation_m.z", t.translation_m().z()}}));
  const wire::Quaternion& q = t.rotation();
  Transform transform{{t.translation_m().x(), t.translation_m().y(), t.translation_m().z()},
                      {q.x(), q.y(), q.z(), q.w()}};
  if (Status status = ValidateTransform(transform); !status.ok()) {
    return std::move(status).WithField("rotation");
  }
  return transform;
}

}  // namespace

StatusOr<Camera> ToCamera(const wire::CameraCalibration& calibration) {
  INTERLACER_RETURN_IF_ERROR(CheckSize(calibration));
  INTERLACER_ASSIGN_OR_RETURN(const DistortionModel model, ToDistortionModel(calibration));
  if (!calibration.has_world_from_camera()) {
    return Mismatch(reason::CALIBRATION_INVALID, "world_from_camera", "a pose", "nothing");
  }
  auto pose = ToTransform(calibration.world_from_camera());
  if (!pose.ok()) return pose.status().WithFieldPrefix("world_from_camera");
  Camera camera{
      calibration.width_px(),
      calibration.height_px(),
      calibration.fx_px(),
      calibration.fy_px(),
      calibration.cx_px(),
      calibration.cy_px(),
      model,
      {calibration.distortion_coefficients().begin(), calibration.distortion_coefficients().end()},
      *pose};
  if (Status status = ValidateCamera(camera); !status.ok()) {
    // The library's path of the coefficients is that of files.
    if (status.reason() == reason::DISTORTION_INVALID) status.WithField("distortion_coefficients");
    return status;
  }
  return camera;
}

StatusOr<Box> ToBox(const wire::Box& box) {
  const Box plain{{box.min_m().x(), box.min_m().y(), box.min_m().z()},
                  {box.max_m().x(), box.max_m().y(), box.max_m().z()}};
  if (Status status = ValidateBox(plain, kMaxSceneSideM); !status.ok()) {
    return std::move(status).WithField("");
  }
  return plain;
}

StatusOr<std::int64_t> ToNanoseconds(const google::protobuf::Timestamp& time) {
  if (time.nanos() < 0 || time.nanos() >= kNanosecondsPerSecond) {
    return Mismatch(reason::TIMESTAMP_INVALID, "nanos", "0 to 999999999",
                    std::to_string(time.nanos()));
  }
  if (time.seconds() < -kMaxSeconds || time.seconds() > kMaxSeconds) {
    return Mismatch(reason::TIMESTAMP_INVALID, "seconds",
                    "within " + std::to_string(kMaxSeconds) + " of 1970",
                    std::to_string(time.seconds()));
  }
  return time.seconds() * kNanosecondsPerSecond + time.nanos();
}

}  // namespace interlacer
