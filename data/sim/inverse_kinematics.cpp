#include "data/sim/inverse_kinematics.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
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

using Vector6 = Eigen::Matrix<double, kTaskDimensions, 1>;
using Jacobian = Eigen::Matrix<double, kTaskDimensions, kJointCount>;
using JointVector = Eigen::Matrix<double, kJointCount, 1>;

Eigen::Vector3d ToEigen(const Vec3d& v) { return {v[0], v[1], v[2]}; }

/// Rotation vector of a unit quaternion x, y, z, w, shortest way.
Eigen::Vector3d RotationVector(const std::array<double, 4>& q) {
  const Eigen::AngleAxisd turn(Eigen::Quaterniond(q[3], q[0], q[1], q[2]));
  return turn.angle() * turn.axis();
}

/// J^T (J J^T + damping)^-1 e, the damped least-squares step.
JointVector DampedStep(const Jacobian& jacobian, const Vector6& error) {
  Eigen::Matrix<double, kTaskDimensions, kTaskDimensions> normal = jacobian * jacobian.transpose();
  normal.diagonal().array() += kDamping;
  return jacobian.transpose() * normal.llt().solve(error);
}

struct Residual {
  Vector6 error;  // position (m), rotation vector (rad), towards the target
  Jacobian jacobian;
};

Residual Evaluate(const ArmModel& model, int arm, const Transform& world_from_goal,
                  const ArmJoints& joint_rad) {
  const ArmFrames frames = ComputeArmFrames(model, arm, joint_rad);
  const Eigen::Vector3d tool_m = ToEigen(Apply(frames.world_from_gripper, model.tool_point_m()));
  const Transform turn = Compose(world_from_goal, Inverse(frames.world_from_gripper));
  Residual residual;
  residual.error << ToEigen(world_from_goal.translation_m) - tool_m,
      RotationVector(turn.rotation_xyzw);
  for (int j = 0; j < kJointCount; ++j) {
    const Eigen::Vector3d origin_m = ToEigen(frames.world_from_link[j].translation_m);
    const Eigen::Vector3d axis = ToEigen(Apply(frames.world_from_link[j], {0, 0, 1})) - origin_m;
    residual.jacobian.col(j) << axis.cross(tool_m - origin_m), axis;
  }
  return residual;
}

bool Converged(const Vector6& e) {
  return e.head<3>().norm() < kPositionToleranceM && e.tail<3>().norm() < kAngleToleranceRad;
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
  const JointVector rest = Eigen::Map<const JointVector>(model.rest_rad.data());
  Vector6 error = Vector6::Zero();
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    const auto [offset, jacobian] = Evaluate(model, arm, world_from_goal, joint_rad);
    error = offset;
    if (Converged(error) && iteration > kMaxIterations / 4) return joint_rad;
    // Posture pull p with its part that moves the tool removed: p - J^+ J p.
    const JointVector pull = kPostureGain * (rest - Eigen::Map<JointVector>(joint_rad.data()));
    const JointVector step = pull + DampedStep(jacobian, error - jacobian * pull);
    for (int j = 0; j < kJointCount; ++j) {
      const ArmLink& link = model.links[j];
      const double turn = std::clamp(step[j], -kMaxTurnRad, kMaxTurnRad);
      joint_rad[j] = std::clamp(joint_rad[j] + turn, link.min_rad + kLimitMarginRad,
                                link.max_rad - kLimitMarginRad);
    }
  }
  return OutOfRange(reason::ACTION_OUT_OF_RANGE,
                    "arm " + std::string(kArmNames[arm]) + ": pose out of reach, expected within " +
                        std::to_string(kPositionToleranceM) + " m, got " +
                        std::to_string(error.head<3>().norm()) + " m");
}

}  // namespace interlacer::sim
