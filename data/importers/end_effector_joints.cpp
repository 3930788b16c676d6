#include "data/importers/end_effector_joints.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "common/number_text.h"
#include "common/random.h"
#include "common/transforms.h"
#include "robots/inverse_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

constexpr char kOption[] = "--inverse-kinematics";
/// Arms have few postures; the search from one of these finds one that the limits allow.
constexpr int kMoreStarts = 32;

Status BadOption(const std::string& got) {
  return Mismatch(reason::ARGUMENT_INVALID, kOption,
                  "POSITION=LINK,ROTATION=LINK: position and quaternion of an end effector in the "
                  "recording, each with the link of --robot whose it is (ros2: FRAME=LINK)",
                  got);
}

StatusOr<std::pair<std::string, int>> ParseHalf(const Robot& robot, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) return BadOption(text);
  const std::string name = text.substr(equals + 1);
  const int link = FindLink(robot, name);
  if (link >= 0) return std::pair(text.substr(0, equals), link);
  std::string names;
  for (const RobotLink& known : robot.links) names += (names.empty() ? "" : ", ") + known.name;
  return Mismatch(reason::ARGUMENT_INVALID, kOption, "a link of the robot: " + names, name);
}

StatusOr<EndEffector> ParseEndEffector(const Robot& robot, const std::string& text) {
  const std::size_t comma = text.find(',');
  INTERLACER_ASSIGN_OR_RETURN(const auto position, ParseHalf(robot, text.substr(0, comma)));
  const std::size_t second = comma == std::string::npos ? 0 : comma + 1;
  INTERLACER_ASSIGN_OR_RETURN(const auto rotation, ParseHalf(robot, text.substr(second)));
  return EndEffector{position.first, rotation.first, position.second, rotation.second};
}

const RobotJoint& JointOf(const Robot& robot, std::size_t column) {
  return robot.links[static_cast<std::size_t>(robot.columns[column])].joint;
}

/// `share` of [0,1] of the way between a joint's limits; a turn where it has none.
double BetweenLimits(const RobotJoint& joint, double share) {
  const double reach = joint.type == JointType::kPrismatic ? 0 : std::numbers::pi;
  const JointLimits limits = joint.limits.value_or(JointLimits{-reach, reach});
  return limits.min + share * (limits.max - limits.min);
}

bool IsReached(const ReachedGoal& reached) {
  return reached.position_off_m <= kReachedM && reached.angle_off_rad <= kReachedRad;
}

}  // namespace

StatusOr<EndEffectorJoints> EndEffectorJoints::Make(std::shared_ptr<const Robot> robot,
                                                    const std::vector<std::string>& options,
                                                    std::vector<bool> measured) {
  EndEffectorJoints joints;
  std::vector<bool> moved = measured;
  for (const std::string& option : options) {
    INTERLACER_ASSIGN_OR_RETURN(const EndEffector end, ParseEndEffector(*robot, option));
    const std::vector<bool> position = ColumnsOfLink(*robot, end.position_link);
    const std::vector<bool> rotation = ColumnsOfLink(*robot, end.rotation_link);
    std::vector<bool> held(measured.size(), true);
    for (std::size_t c = 0; c < held.size(); ++c) {
      if (measured[c] || !(position[c] || rotation[c])) continue;
      if (moved[c]) {
        return Mismatch(reason::ARGUMENT_INVALID, kOption,
                        "end effectors that share no joint; --joints can give those that they do",
                        "joint " + JointOf(*robot, c).name + " of two");
      }
      held[c] = false;
      moved[c] = true;
    }
    if (std::find(held.begin(), held.end(), false) == held.end()) {
      return Mismatch(reason::ARGUMENT_INVALID, kOption,
                      "a link that joints move which --joints does not give", option);
    }
    joints.end_effectors_.push_back(end);
    joints.held_.push_back(std::move(held));
  }
  std::string missing;
  for (std::size_t c = 0; c < moved.size(); ++c) {
    if (!moved[c]) missing += (missing.empty() ? "" : ", ") + JointOf(*robot, c).name;
  }
  if (!missing.empty()) {
    return Mismatch(
        reason::ACTION_SHAPE, "--joints",
        "joints of --robot on which no end effector hangs, such as a gripper's: " + missing,
        "none");
  }
  joints.robot_ = std::move(robot);
  joints.measured_ = std::move(measured);
  return joints;
}

StatusOr<std::vector<double>> EndEffectorJoints::Next(std::int64_t step,
                                                      std::vector<double> measured_row,
                                                      std::span<const Transform> poses) {
  std::vector<double> row = before_.empty() ? RestValues(*robot_) : before_;
  for (std::size_t c = 0; c < row.size(); ++c) {
    if (measured_[c]) row[c] = measured_row[c];
  }
  for (std::size_t end = 0; end < end_effectors_.size(); ++end) {
    INTERLACER_ASSIGN_OR_RETURN(row, Reach(step, end, poses[end], std::move(row)));
  }
  before_ = row;
  return row;
}

StatusOr<std::vector<double>> EndEffectorJoints::Reach(std::int64_t step, std::size_t end_effector,
                                                       const Transform& pose,
                                                       std::vector<double> start) {
  const EndEffector& end = end_effectors_[end_effector];
  const std::vector<bool>& held = held_[end_effector];
  const std::string row = " row " + std::to_string(step);
  INTERLACER_RETURN_IF_ERROR(ValidateTransform(pose).WithField(
      end.position_source + row + ", " + end.rotation_source + row + " (x,y,z,w)"));
  const LinkGoal goal{end.position_link, end.rotation_link, pose.translation_m, pose.rotation_xyzw};
  ReachedGoal best = ReachGoal(*robot_, goal, start, held);
  const int more = before_.empty() ? kMoreStarts : 0;
  for (int attempt = 0; attempt <= more && more > 0 && !IsReached(best); ++attempt) {
    for (std::size_t c = 0; c < start.size(); ++c) {
      if (held[c]) continue;
      const PhiloxWords words =
          Philox(0, static_cast<std::uint32_t>(RandomStream::kDataGeneration),
                 static_cast<std::uint32_t>(attempt), static_cast<std::uint32_t>(c), 0);
      start[c] = BetweenLimits(JointOf(*robot_, c), attempt == 0 ? 0.5 : ToUniform(words.word[0]));
    }
    ReachedGoal other = ReachGoal(*robot_, goal, start, held);
    if (IsReached(other) ||
        other.position_off_m + other.angle_off_rad < best.position_off_m + best.angle_off_rad) {
      best = std::move(other);
    }
  }
  if (!IsReached(best)) {
    const Vec3d& at = pose.translation_m;
    return OutOfRange(reason::ACTION_OUT_OF_RANGE,
                      "step " + std::to_string(step) + ": expected a pose that link " +
                          robot_->links[static_cast<std::size_t>(end.position_link)].name +
                          " reaches within the joint limits of robot '" + robot_->name + "' to " +
                          NumberText(kReachedM) + " m and " + NumberText(kReachedRad) + " rad" +
                          (before_.empty() ? "" : " from the step before") + ", got x,y,z " +
                          NumberText(at[0]) + "," + NumberText(at[1]) + "," + NumberText(at[2]) +
                          " m, of which the nearest is " + NumberText(best.position_off_m) +
                          " m and " + NumberText(best.angle_off_rad) +
                          " rad off; is it this link's pose, and does the robot stand where the "
                          "recording has it (robot make --base)?")
        .WithField(end.position_source + row);
  }
  most_off_m_ = std::max(most_off_m_, best.position_off_m);
  most_off_rad_ = std::max(most_off_rad_, best.angle_off_rad);
  return std::move(best.joint_values);
}

std::string EndEffectorJoints::Note() const {
  std::string sources;
  for (const EndEffector& end : end_effectors_) {
    sources += (sources.empty() ? "" : ", ") + end.position_source;
    if (end.rotation_source != end.position_source) sources += ", " + end.rotation_source;
  }
  return "joints by inverse kinematics from " + sources +
         ", not measured: the arm may have stood otherwise; poses met to " +
         NumberText(most_off_m_) + " m and " + NumberText(most_off_rad_) + " rad";
}

}  // namespace interlacer
