#include "robots/rigid_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <vector>

#include "common/random.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr double kFitM = 1e-12;

std::vector<Vec3d> Scattered(int n, const Vec3d& extent_m) {
  RandomSequence random(2, RandomStream::kDataGeneration);
  std::vector<Vec3d> points_m;
  for (int i = 0; i < n; ++i) {
    Vec3d& p = points_m.emplace_back();
    for (std::size_t axis = 0; axis < 3; ++axis) p[axis] = extent_m[axis] * random.Normal();
  }
  return points_m;
}

std::vector<Vec3d> At(const Transform& motion, const std::vector<Vec3d>& points_m) {
  std::vector<Vec3d> out;
  for (const Vec3d& p : points_m) out.push_back(Apply(motion, p));
  return out;
}

const Transform kMotion{{0.3, -0.2, 0.1}, {0.5, -0.5, 0.5, 0.5}};

TEST(RigidFit, FindsTheMotionOfABodyAndOfAPlate) {
  for (const Vec3d& extent_m : {Vec3d{0.03, 0.04, 0.05}, Vec3d{0.03, 0.04, 0}}) {
    const std::vector<Vec3d> now_m = Scattered(20, extent_m);
    const std::vector<Vec3d> later_m = At(kMotion, now_m);
    const Transform fit = FitRigidMotion(now_m, later_m);
    for (std::size_t i = 0; i < now_m.size(); ++i) {
      EXPECT_LT(DistanceM(Apply(fit, now_m[i]), later_m[i]), kFitM) << i;
    }
    // A mirrored body would fit a plate as well.
    const Vec3d beside_m{0, 0, 0.1};
    EXPECT_LT(DistanceM(Apply(fit, beside_m), Apply(kMotion, beside_m)), 1e-9);
  }
}

TEST(RigidFit, WhatHasNotMovedKeepsItsBits) {
  const std::vector<Vec3d> points_m = Scattered(20, {0.03, 0.04, 0.05});
  EXPECT_EQ(FitRigidMotion(points_m, points_m), Transform());
  EXPECT_EQ(FitRigidMotion({}, {}), Transform());
}

TEST(RigidFit, PointsOfALineGoAsTheirMeanDoes) {
  for (const int n : {1, 2, 9}) {
    const std::vector<Vec3d> now_m = Scattered(n, {0.05, 0, 0});
    std::vector<Vec3d> later_m = now_m;
    for (Vec3d& p : later_m) p = {0.1, p[0], 0.2};  // turned a quarter, and moved
    const Transform fit = FitRigidMotion(now_m, later_m);
    EXPECT_EQ(fit.rotation_xyzw, Transform().rotation_xyzw) << n;
    Vec3d mean_m{}, later_mean_m{};
    for (std::size_t i = 0; i < now_m.size(); ++i) {
      for (std::size_t axis = 0; axis < 3; ++axis) {
        mean_m[axis] += now_m[i][axis] / n;
        later_mean_m[axis] += later_m[i][axis] / n;
      }
    }
    EXPECT_LT(DistanceM(Apply(fit, mean_m), later_mean_m), kFitM) << n;
  }
}

TEST(RigidFit, OfPointsThatTearItIsNoFartherThanTheTrueMotion) {
  const std::vector<Vec3d> now_m = Scattered(40, {0.03, 0.04, 0.05});
  std::vector<Vec3d> later_m = At(kMotion, now_m);
  RandomSequence random(3, RandomStream::kDataGeneration);
  for (Vec3d& p : later_m) {
    for (double& x : p) x += 0.005 * random.Normal();
  }
  const auto squares_m2 = [&](const Transform& motion) {
    double sum = 0;
    for (std::size_t i = 0; i < now_m.size(); ++i) {
      sum += std::pow(DistanceM(Apply(motion, now_m[i]), later_m[i]), 2);
    }
    return sum;
  };
  EXPECT_LT(squares_m2(FitRigidMotion(now_m, later_m)), squares_m2(kMotion));
  EXPECT_GT(squares_m2(FitRigidMotion(now_m, later_m)), 0.5 * squares_m2(kMotion));
}

}  // namespace
}  // namespace interlacer
