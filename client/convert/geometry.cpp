#include "client/convert/geometry.h"

#include <limits>

#include "common/duration.h"

namespace interlacer {
namespace {

void VectorToProto(const Vec3d& v, v1::Vector3* out) {
  out->set_x(v[0]);
  out->set_y(v[1]);
  out->set_z(v[2]);
}

v1::DistortionModel LensToProto(DistortionModel model) {
  switch (model) {
    case DistortionModel::kPlumbBob:
      return v1::DISTORTION_MODEL_PLUMB_BOB;
    case DistortionModel::kRationalPolynomial:
      return v1::DISTORTION_MODEL_RATIONAL_POLYNOMIAL;
    case DistortionModel::kNone:
      break;
  }
  return v1::DISTORTION_MODEL_NONE;
}

}  // namespace

void ToProto(const Box& box, v1::Box* out) {
  VectorToProto(box.min_m, out->mutable_min_m());
  VectorToProto(box.max_m, out->mutable_max_m());
}

void ToProto(const Transform& transform, v1::Transform* out) {
  VectorToProto(transform.translation_m, out->mutable_translation_m());
  const auto& q = transform.rotation_xyzw;
  v1::Quaternion* rotation = out->mutable_rotation();
  rotation->set_x(q[0]);
  rotation->set_y(q[1]);
  rotation->set_z(q[2]);
  rotation->set_w(q[3]);
}

void ToProto(const Camera& camera, v1::CameraCalibration* out) {
  out->set_width_px(camera.width_px);
  out->set_height_px(camera.height_px);
  out->set_fx_px(camera.fx_px);
  out->set_fy_px(camera.fy_px);
  out->set_cx_px(camera.cx_px);
  out->set_cy_px(camera.cy_px);
  out->set_distortion_model(LensToProto(camera.distortion_model));
  out->mutable_distortion_coefficients()->Assign(camera.distortion_coefficients.begin(),
                                                 camera.distortion_coefficients.end());
  ToProto(camera.world_from_camera, out->mutable_world_from_camera());
}

Box FromProto(const v1::Box& box) {
  return {{box.min_m().x(), box.min_m().y(), box.min_m().z()},
          {box.max_m().x(), box.max_m().y(), box.max_m().z()}};
}

void TimeToProto(std::int64_t time_ns, google::protobuf::Timestamp* out) {
  out->set_seconds(time_ns / kNanosecondsPerSecond);
  out->set_nanos(static_cast<std::int32_t>(time_ns % kNanosecondsPerSecond));
}

std::optional<std::int64_t> TimeFromProto(const google::protobuf::Timestamp& time) {
  constexpr std::int64_t kEndS = std::numeric_limits<std::int64_t>::max() / kNanosecondsPerSecond;
  const bool is_time = time.seconds() >= -kEndS && time.seconds() < kEndS && time.nanos() >= 0 &&
                       time.nanos() < kNanosecondsPerSecond;
  if (!is_time) return std::nullopt;
  return time.seconds() * kNanosecondsPerSecond + time.nanos();
}

void SecondsToProto(double seconds, google::protobuf::Duration* out) {
  const std::int64_t time_ns = ToNanoseconds(seconds);
  out->set_seconds(time_ns / kNanosecondsPerSecond);
  out->set_nanos(static_cast<std::int32_t>(time_ns % kNanosecondsPerSecond));
}

double SecondsFromProto(const google::protobuf::Duration& duration) {
  return static_cast<double>(duration.seconds()) + 1e-9 * duration.nanos();
}

}  // namespace interlacer
