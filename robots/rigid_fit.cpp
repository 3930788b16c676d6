#include "robots/rigid_fit.h"

#include <Eigen/Eigenvalues>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "common/check.h"

namespace interlacer {
namespace {

Eigen::Matrix3Xd ColumnsOf(std::span<const Vec3d> points_m) {
  Eigen::Matrix3Xd out(3, static_cast<Eigen::Index>(points_m.size()));
  for (std::size_t i = 0; i < points_m.size(); ++i) {
    for (int axis = 0; axis < 3; ++axis) {
      out(axis, static_cast<Eigen::Index>(i)) = points_m[i][static_cast<std::size_t>(axis)];
    }
  }
  return out;
}

/// Root mean square distance of the points from the line that is nearest to them.
double DistanceFromLineM(const Eigen::Matrix3Xd& centred) {
  const Eigen::Matrix3d scatter =
      centred * centred.transpose() / static_cast<double>(centred.cols());
  const Eigen::Vector3d spread =
      Eigen::SelfAdjointEigenSolver<Eigen::Matrix3d>(scatter, Eigen::EigenvaluesOnly).eigenvalues();
  return std::sqrt(std::max(0.0, spread[0] + spread[1]));  // ascending
}

}  // namespace

Transform FitRigidMotion(std::span<const Vec3d> now_m, std::span<const Vec3d> later_m) {
  INTERLACER_CHECK(now_m.size() == later_m.size(), "points of a rigid fit");
  if (std::equal(now_m.begin(), now_m.end(), later_m.begin())) return {};
  const Eigen::Matrix3Xd now = ColumnsOf(now_m), later = ColumnsOf(later_m);
  const Eigen::Vector3d mean = now.rowwise().mean(), later_mean = later.rowwise().mean();
  Eigen::Matrix3d turn = Eigen::Matrix3d::Identity();
  if (DistanceFromLineM(now.colwise() - mean) > kFlatM) {
    turn = Eigen::umeyama(now, later, /*with_scaling=*/false).topLeftCorner<3, 3>();
  }
  const Eigen::Quaterniond rotation(turn);
  const Eigen::Vector3d shift = later_mean - turn * mean;
  return {{shift[0], shift[1], shift[2]}, {rotation.x(), rotation.y(), rotation.z(), rotation.w()}};
}

}  // namespace interlacer
