#include "data/sim/inverse_kinematics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "common/transforms.h"
#include "data/sim/forward_kinematics.h"

namespace interlacer::sim {
namespace {

constexpr int kTaskDimensions = 6;
constexpr int kMaxIterations = 200;
constexpr double kDamping = 1e-4;  // squared, in the units of J J^T
constexpr double kPostureGain = 0.1;
constexpr double kMaxTurnRad = 0.3;  // per joint and iteration
constexpr double kPositionToleranceM = 5e-4;
constexpr double kAngleToleranceRad = 2e-3;
constexpr double kLimitMarginRad = 0.02;

using Vector6 = std::array<double, kTaskDimensions>;
using Matrix6 = std::array<Vector6, kTaskDimensions>;
using Jacobian = std::array<Vector6, kJointCount>;  // one column per joint

Vec3d Minus(const Vec3d& a, const Vec3d& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }

Vec3d Cross(const Vec3d& a, const Vec3d& b) {
  return {a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]};
}

/// Rotation vector of a unit quaternion, shortest way.
Vec3d RotationVector(const std::array<double, 4>& q) {
  const double sign = q[3] < 0 ? -1 : 1;
  const double sine = std::sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  if (sine < 1e-12) return {0, 0, 0};
  const double scale = sign * 2 * std::atan2(sine, sign * q[3]) / sine;
  return {q[0] * scale, q[1] * scale, q[2] * scale};
}

/// Solves A x = b for symmetric positive definite A by Cholesky factors.
Vector6 SolveSymmetric(Matrix6 a, Vector6 b) {
  for (int i = 0; i < kTaskDimensions; ++i) {
    for (int j = 0; j <= i; ++j) {
      double sum = a[i][j];
      for (int k = 0; k < j; ++k) sum -= a[i][k] * a[j][k];
      a[i][j] = i == j ? std::sqrt(sum) : sum / a[j][j];
    }
  }
  for (int i = 0; i < kTaskDimensions; ++i) {
    for (int k = 0; k < i; ++k) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (int i = kTaskDimensions - 1; i >= 0; --i) {
    for (int k = i + 1; k < kTaskDimensions; ++k) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

/// J^T (J J^T + damping)^-1 e, the damped least-squares step.
std::array<double, kJointCount> DampedStep(const Jacobian& jacobian, const Vector6& error) {
  Matrix6 normal{};
  for (int r = 0; r < kTaskDimensions; ++r) {
    for (int c = 0; c < kTaskDimensions; ++c) {
      for (const Vector6& column : jacobian) normal[r][c] += column[r] * column[c];
    }
    normal[r][r] += kDamping;
  }
  const Vector6 weight = SolveSymmetric(normal, error);
  std::array<double, kJointCount> step{};
  for (int j = 0; j < kJointCount; ++j) {
    for (int r = 0; r < kTaskDimensions; ++r) step[j] += jacobian[j][r] * weight[r];
  }
  return step;
}

struct Residual {
  Vector6 error;  // position (m), rotation vector (rad), towards the target
  Jacobian jacobian;
};

Residual Evaluate(const ArmModel& model, int arm, const Transform& world_from_goal,
                  const ArmJoints& joint_rad) {
  const ArmFrames frames = ComputeArmFrames(model, arm, joint_rad);
  const Vec3d tool_m = Apply(frames.world_from_gripper, model.tool_point_m());
  const Vec3d offset_m = Minus(world_from_goal.translation_m, tool_m);
  Transform gripper_from_world = Inverse(frames.world_from_gripper);
  const Vec3d turn = RotationVector(Compose(world_from_goal, gripper_from_world).rotation_xyzw);
  Residual residual;
  for (int i = 0; i < 3; ++i) {
    residual.error[i] = offset_m[i];
    residual.error[3 + i] = turn[i];
  }
  for (int j = 0; j < kJointCount; ++j) {
    const Transform& world_from_link = frames.world_from_link[j];
    const Vec3d axis = Minus(Apply(world_from_link, {0, 0, 1}), world_from_link.translation_m);
    const Vec3d linear = Cross(axis, Minus(tool_m, world_from_link.translation_m));
    for (int i = 0; i < 3; ++i) {
      residual.jacobian[j][i] = linear[i];
      residual.jacobian[j][3 + i] = axis[i];
    }
  }
  return residual;
}

bool Converged(const Vector6& e) {
  return std::hypot(e[0], e[1], e[2]) < kPositionToleranceM &&
         std::hypot(e[3], e[4], e[5]) < kAngleToleranceRad;
}

}  // namespace

StatusOr<ArmJoints> SolveArm(const ArmModel& model, int arm, const ToolTarget& target,
                             const ArmJoints& start_rad) {
  // Pointing down is a half turn about the horizontal axis that yaw turns. The two fingers are
  // alike, so the right arm takes the half turn more that suits its base.
  const double base_yaw_rad = arm == 0 ? 0 : std::numbers::pi;
  const double half_yaw = (target.yaw_rad + base_yaw_rad) / 2;
  const Transform world_from_goal = {target.position_m,
                                     {-std::sin(half_yaw), std::cos(half_yaw), 0, 0}};
  ArmJoints joint_rad = start_rad;
  Vector6 error{};
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    const Residual residual = Evaluate(model, arm, world_from_goal, joint_rad);
    error = residual.error;
    if (Converged(error) && iteration > kMaxIterations / 4) return joint_rad;
    // Posture pull p with its part that moves the tool removed: p - J^+ J p.
    Vector6 wanted = error;
    std::array<double, kJointCount> pull{};
    for (int j = 0; j < kJointCount; ++j) {
      pull[j] = kPostureGain * (model.rest_rad[j] - joint_rad[j]);
      for (int r = 0; r < kTaskDimensions; ++r) wanted[r] -= residual.jacobian[j][r] * pull[j];
    }
    const std::array<double, kJointCount> step = DampedStep(residual.jacobian, wanted);
    for (int j = 0; j < kJointCount; ++j) {
      const ArmLink& link = model.links[j];
      const double turn = std::clamp(step[j] + pull[j], -kMaxTurnRad, kMaxTurnRad);
      joint_rad[j] = std::clamp(joint_rad[j] + turn, link.min_rad + kLimitMarginRad,
                                link.max_rad - kLimitMarginRad);
    }
  }
  return OutOfRange(reason::ACTION_OUT_OF_RANGE,
                    "arm " + std::string(kArmNames[arm]) + ": pose out of reach, expected within " +
                        std::to_string(kPositionToleranceM) + " m, got " +
                        std::to_string(std::hypot(error[0], error[1], error[2])) + " m");
}

}  // namespace interlacer::sim
