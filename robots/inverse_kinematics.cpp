#include "robots/inverse_kinematics.h"

#include <Eigen/Cholesky>
#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "robots/forward_kinematics.h"

namespace interlacer {
namespace {

constexpr int kMaxIterations = 300;
/// Nearer than any tolerance of callers; float64 reaches it.
constexpr double kDoneM = 1e-7, kDoneRad = 1e-7;
/// Squared, in the units of J J^T: damping = factor * |error|^2 + least.
constexpr double kFirstFactor = 0.1, kLeastDamping = 1e-10;
constexpr double kLeastFactor = 1e-6, kLargestFactor = 1e6;
constexpr double kMaxTurn = 0.5;  // per joint and iteration, rad or m

using Vector6 = Eigen::Matrix<double, 6, 1>;
using Matrix6 = Eigen::Matrix<double, 6, 6>;
using Jacobian = Eigen::Matrix<double, 6, Eigen::Dynamic>;

Eigen::Vector3d ToEigen(const Vec3d& v) { return {v[0], v[1], v[2]}; }

Eigen::Quaterniond ToEigen(const std::array<double, 4>& q) { return {q[3], q[0], q[1], q[2]}; }

/// Position (m) and rotation vector (rad) towards the goal, in the world.
Vector6 ErrorTo(const LinkGoal& goal, const std::vector<Transform>& poses) {
  const Eigen::AngleAxisd turn(ToEigen(goal.rotation_xyzw).normalized() *
                               ToEigen(poses[goal.rotation_link].rotation_xyzw).conjugate());
  Vector6 error;
  error << ToEigen(goal.position_m) - ToEigen(poses[goal.position_link].translation_m),
      turn.angle() * turn.axis();
  return error;
}

/// Adds what the joints from the root to `link` do to its position or rotation.
template <typename Effect>
void AddChain(const Robot& robot, const std::vector<int>& column_of_link, int link,
              const Effect& effect) {
  for (; link >= 0; link = robot.links[link].parent) {
    const RobotJoint& joint = robot.links[link].joint;
    if (joint.type == JointType::kFixed) continue;
    const int column = column_of_link[joint.mimic ? joint.mimic->link : link];
    effect(link, column, joint.mimic ? joint.mimic->factor : 1.0);
  }
}

std::vector<int> ColumnOfLink(const Robot& robot) {
  std::vector<int> column_of_link(robot.links.size(), -1);
  for (std::size_t c = 0; c < robot.columns.size(); ++c) {
    column_of_link[robot.columns[c]] = static_cast<int>(c);
  }
  return column_of_link;
}

Jacobian JacobianOf(const Robot& robot, const std::vector<int>& column_of_link,
                    const LinkGoal& goal, const std::vector<Transform>& poses) {
  Jacobian jacobian = Jacobian::Zero(6, static_cast<Eigen::Index>(robot.columns.size()));
  // A motion about its axis leaves the joint's frame where the link's is.
  const auto axis_of = [&](int link) -> Eigen::Vector3d {
    return ToEigen(poses[link].rotation_xyzw) * ToEigen(robot.links[link].joint.axis);
  };
  const Eigen::Vector3d tip_m = ToEigen(poses[goal.position_link].translation_m);
  AddChain(robot, column_of_link, goal.position_link, [&](int link, int column, double factor) {
    const Eigen::Vector3d axis = axis_of(link);
    const bool slides = robot.links[link].joint.type == JointType::kPrismatic;
    const Eigen::Vector3d arm_m = tip_m - ToEigen(poses[link].translation_m);
    jacobian.col(column).head<3>() += factor * (slides ? axis : axis.cross(arm_m).eval());
  });
  AddChain(robot, column_of_link, goal.rotation_link, [&](int link, int column, double factor) {
    if (robot.links[link].joint.type == JointType::kPrismatic) return;
    jacobian.col(column).tail<3>() += factor * axis_of(link);
  });
  return jacobian;
}

/// J^T (J J^T + damping)^-1 e within the limits: a joint that would leave them stops there, and the
/// others do the rest.
std::vector<double> Stepped(const Robot& robot, Jacobian jacobian, Vector6 error, double damping,
                            std::vector<double> values) {
  const std::size_t columns = values.size();
  for (std::size_t round = 0; round <= columns; ++round) {
    Matrix6 normal = jacobian * jacobian.transpose();
    normal.diagonal().array() += damping;
    const Eigen::VectorXd step = jacobian.transpose() * normal.llt().solve(error);
    bool has_stopped = false;
    for (std::size_t c = 0; c < columns; ++c) {
      const auto& limits = robot.links[robot.columns[c]].joint.limits;
      const auto column = static_cast<Eigen::Index>(c);
      if (!limits || step[column] == 0) continue;
      const double wanted = values[c] + step[column];
      if (wanted >= limits->min && wanted <= limits->max) continue;
      const double stop = wanted < limits->min ? limits->min : limits->max;
      error -= jacobian.col(column) * (stop - values[c]);
      jacobian.col(column).setZero();
      values[c] = stop;
      has_stopped = true;
    }
    if (has_stopped) continue;
    const double scale = std::min(1.0, kMaxTurn / std::max(step.cwiseAbs().maxCoeff(), 1e-300));
    for (std::size_t c = 0; c < columns; ++c) {
      values[c] += scale * step[static_cast<Eigen::Index>(c)];
    }
    break;
  }
  return values;
}

}  // namespace

std::vector<bool> ColumnsOfLink(const Robot& robot, int link) {
  std::vector<bool> moves(robot.columns.size(), false);
  AddChain(robot, ColumnOfLink(robot), link,
           [&](int, int column, double) { moves[static_cast<std::size_t>(column)] = true; });
  return moves;
}

ReachedGoal ReachGoal(const Robot& robot, const LinkGoal& goal,
                      std::span<const double> start_values, const std::vector<bool>& held_columns) {
  INTERLACER_CHECK(held_columns.empty() || held_columns.size() == robot.columns.size(),
                   "a flag for each column");
  const std::vector<int> column_of_link = ColumnOfLink(robot);
  std::vector<double> values(start_values.begin(), start_values.end());
  std::vector<Transform> poses = LinkPoses(robot, values);
  Vector6 error = ErrorTo(goal, poses);
  double factor = kFirstFactor;
  for (int iteration = 0; iteration < kMaxIterations; ++iteration) {
    if (error.head<3>().norm() < kDoneM && error.tail<3>().norm() < kDoneRad) break;
    Jacobian jacobian = JacobianOf(robot, column_of_link, goal, poses);
    for (std::size_t c = 0; c < held_columns.size(); ++c) {
      if (held_columns[c]) jacobian.col(static_cast<Eigen::Index>(c)).setZero();
    }
    const double damping = factor * error.squaredNorm() + kLeastDamping;
    std::vector<double> next = Stepped(robot, std::move(jacobian), error, damping, values);
    std::vector<Transform> next_poses = LinkPoses(robot, next);
    const Vector6 next_error = ErrorTo(goal, next_poses);
    const bool is_nearer = next_error.squaredNorm() < error.squaredNorm();
    factor = is_nearer ? std::max(kLeastFactor, factor / 4) : factor * 8;
    if (factor > kLargestFactor) break;  // no step gets nearer
    if (!is_nearer) continue;
    values = std::move(next);
    poses = std::move(next_poses);
    error = next_error;
  }
  return {std::move(values), error.head<3>().norm(), error.tail<3>().norm()};
}

}  // namespace interlacer
