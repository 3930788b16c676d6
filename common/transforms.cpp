#include "common/transforms.h"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <string>

#include "common/number_text.h"

namespace interlacer {
namespace {

constexpr double kUnitNormTolerance = 1e-3;

Eigen::Quaterniond RotationOf(const Transform& t) {
  const auto& q = t.rotation_xyzw;
  return Eigen::Quaterniond(q[3], q[0], q[1], q[2]).normalized();
}

Eigen::Vector3d TranslationOf(const Transform& t) {
  return Eigen::Vector3d(t.translation_m[0], t.translation_m[1], t.translation_m[2]);
}

Transform ToTransform(const Eigen::Quaterniond& rotation, const Eigen::Vector3d& translation) {
  const Eigen::Quaterniond q = rotation.normalized();
  return {{translation.x(), translation.y(), translation.z()}, {q.x(), q.y(), q.z(), q.w()}};
}

bool AllFinite(const double* values, int count) {
  return std::all_of(values, values + count, [](double v) { return std::isfinite(v); });
}

}  // namespace

Status ValidateTransform(const Transform& transform) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (std::isfinite(transform.translation_m[axis])) continue;
    return Mismatch(reason::CALIBRATION_INVALID, std::string("translation_m.") + "xyz"[axis],
                    "a finite number", NumberText(transform.translation_m[axis]));
  }
  double sq_norm = 0;
  for (double c : transform.rotation_xyzw) sq_norm += c * c;
  const double norm = std::sqrt(sq_norm);
  if (!(std::abs(norm - 1.0) <= kUnitNormTolerance)) {
    return Mismatch(reason::QUATERNION_NOT_UNIT, "rotation_xyzw", "norm 1 within 0.001",
                    "norm " + NumberText(norm));
  }
  return Status::Ok();
}

Status ValidateBox(const Box& box, double max_side_m) {
  for (int axis = 0; axis < 3; ++axis) {
    const double low = box.min_m[axis], high = box.max_m[axis];
    if (!(std::isfinite(low) && std::isfinite(high) && low < high && high - low <= max_side_m)) {
      return Mismatch(reason::WORKSPACE_INVALID, "workspace." + std::string(1, "xyz"[axis]),
                      "min < max, finite, side at most " + NumberText(max_side_m) + " m",
                      "min " + NumberText(low) + " m, max " + NumberText(high) + " m");
    }
  }
  return Status::Ok();
}

Vec3d Apply(const Transform& a_from_b, const Vec3d& point_b_m) {
  const Eigen::Vector3d p =
      RotationOf(a_from_b) * Eigen::Vector3d(point_b_m[0], point_b_m[1], point_b_m[2]) +
      TranslationOf(a_from_b);
  return {p.x(), p.y(), p.z()};
}

Transform Compose(const Transform& a_from_b, const Transform& b_from_c) {
  const Eigen::Quaterniond rotation = RotationOf(a_from_b);
  return ToTransform(rotation * RotationOf(b_from_c),
                     rotation * TranslationOf(b_from_c) + TranslationOf(a_from_b));
}

Transform Inverse(const Transform& a_from_b) {
  const Eigen::Quaterniond rotation = RotationOf(a_from_b).conjugate();
  // p_b = R^T p_a - R^T t
  return ToTransform(rotation, -(rotation * TranslationOf(a_from_b)));
}

Matrix4d ToMatrix(const Transform& a_from_b) {
  const Eigen::Matrix3d r = RotationOf(a_from_b).toRotationMatrix();
  const Vec3d& t = a_from_b.translation_m;
  return {r(0, 0), r(0, 1), r(0, 2), t[0], r(1, 0), r(1, 1), r(1, 2), t[1],
          r(2, 0), r(2, 1), r(2, 2), t[2], 0,       0,       0,       1};
}

StatusOr<Transform> FromMatrix(const Matrix4d& a_from_b, double tolerance) {
  if (!AllFinite(a_from_b.data(), 16)) {
    return Mismatch(reason::CALIBRATION_INVALID, "matrix", "16 finite numbers",
                    "a number that is not finite");
  }
  const Eigen::Map<const Eigen::Matrix<double, 4, 4, Eigen::RowMajor>> m(a_from_b.data());
  const Eigen::Matrix3d r = m.topLeftCorner<3, 3>();
  // Distance from orthonormal: the largest entry of R R^T - I.
  const double error = (r * r.transpose() - Eigen::Matrix3d::Identity()).cwiseAbs().maxCoeff();
  if (!(error <= tolerance) || r.determinant() < 0) {
    return Mismatch(
        reason::CALIBRATION_INVALID, "matrix.rotation",
        "an orthonormal right-handed rotation within " + NumberText(tolerance),
        "deviation " + NumberText(error) + ", determinant " + NumberText(r.determinant()));
  }
  const Eigen::RowVector4d last_row = m.row(3);
  if ((last_row - Eigen::RowVector4d(0, 0, 0, 1)).cwiseAbs().maxCoeff() > tolerance) {
    return Mismatch(reason::CALIBRATION_INVALID, "matrix.last_row", "0 0 0 1", "other numbers");
  }
  return ToTransform(Eigen::Quaterniond(r), m.topRightCorner<3, 1>());
}

std::array<double, 4> YawQuaternion(double yaw_rad) {
  return {0, 0, std::sin(yaw_rad / 2), std::cos(yaw_rad / 2)};
}

Transform LookAt(const Vec3d& eye_m, const Vec3d& target_m, const Vec3d& up) {
  const Eigen::Vector3d eye(eye_m[0], eye_m[1], eye_m[2]);
  const Eigen::Vector3d forward =
      (Eigen::Vector3d(target_m[0], target_m[1], target_m[2]) - eye).normalized();
  Eigen::Vector3d right = forward.cross(Eigen::Vector3d(up[0], up[1], up[2]));
  // Looking along `up` leaves the roll open; any horizontal right vector will do.
  if (right.norm() < 1e-9) right = forward.unitOrthogonal();
  right.normalize();
  Eigen::Matrix3d rotation;
  rotation.col(0) = right;
  rotation.col(1) = forward.cross(right);
  rotation.col(2) = forward;
  return ToTransform(Eigen::Quaterniond(rotation), eye);
}

Transform Interpolate(const Transform& a, const Transform& b, double s) {
  return ToTransform(RotationOf(a).slerp(s, RotationOf(b)),
                     (1 - s) * TranslationOf(a) + s * TranslationOf(b));
}

double DistanceM(const Vec3d& a_m, const Vec3d& b_m) {
  return std::hypot(a_m[0] - b_m[0], a_m[1] - b_m[1], a_m[2] - b_m[2]);
}

Vec3d BoxCenter(const Box& box) {
  Vec3d center;
  for (int axis = 0; axis < 3; ++axis) center[axis] = 0.5 * (box.min_m[axis] + box.max_m[axis]);
  return center;
}

double LargestHalfExtent(const Box& box) {
  double largest = 0;
  for (int axis = 0; axis < 3; ++axis) {
    largest = std::max(largest, 0.5 * (box.max_m[axis] - box.min_m[axis]));
  }
  return largest;
}

bool HaveOneScale(const Box& a, const Box& b) {
  constexpr double kMostRatio = 1.1;
  const auto [shorter_m, longer_m] = std::minmax({LargestHalfExtent(a), LargestHalfExtent(b)});
  return longer_m <= kMostRatio * shorter_m;
}

bool Contains(const Box& box, const Vec3f& point_m) {
  for (int axis = 0; axis < 3; ++axis) {
    const double p = point_m[axis];
    if (!(p >= box.min_m[axis] && p <= box.max_m[axis])) return false;
  }
  return true;
}

}  // namespace interlacer
