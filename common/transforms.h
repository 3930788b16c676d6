#pragma once

/// Rigid transforms a_from_b. Frames and units: common/geometry.h. Pure functions, thread-safe.
/// Errors: INVALID_ARGUMENT with QUATERNION_NOT_UNIT or CALIBRATION_INVALID.

#include "common/geometry.h"
#include "common/status.h"

namespace interlacer {

/// Norm within 1e-3 of 1 and all numbers finite, else QUATERNION_NOT_UNIT / CALIBRATION_INVALID.
Status ValidateTransform(const Transform& transform);
/// min < max on every axis, finite, and no side longer than `max_side_m`; else WORKSPACE_INVALID.
Status ValidateBox(const Box& box, double max_side_m);

Vec3d Apply(const Transform& a_from_b, const Vec3d& point_b_m);
/// a_from_c = a_from_b * b_from_c.
Transform Compose(const Transform& a_from_b, const Transform& b_from_c);
Transform Inverse(const Transform& a_from_b);
Matrix4d ToMatrix(const Transform& a_from_b);
/// Refuses matrices whose rotation part is farther than `tolerance` from orthonormal, right-handed.
StatusOr<Transform> FromMatrix(const Matrix4d& a_from_b, double tolerance = 1e-3);
/// Rotation about the z axis, x y z w.
std::array<double, 4> YawQuaternion(double yaw_rad);
/// Camera at `eye_m` that looks at `target_m`, image up along `up`; optical axes (x right, y down,
/// z forward).
Transform LookAt(const Vec3d& eye_m, const Vec3d& target_m, const Vec3d& up = {0, 0, 1});
/// Spherical interpolation of the rotation, linear of the translation; s in [0,1].
Transform Interpolate(const Transform& a, const Transform& b, double s);

/// Length of a - b.
double DistanceM(const Vec3d& a_m, const Vec3d& b_m);

Vec3d BoxCenter(const Box& box);
/// Half of the longest side; the scale of normalised positions.
double LargestHalfExtent(const Box& box);
/// Whether the longest side of one is at most a tenth longer than that of the other.
bool HaveOneScale(const Box& a, const Box& b);
bool Contains(const Box& box, const Vec3f& point_m);

}  // namespace interlacer
