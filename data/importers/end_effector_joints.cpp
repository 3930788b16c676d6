#include "data/importers/end_effector_joints.h"

#include <algorithm>
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
/// Arms have few postures: from one of so many starts those are followed that the limits allow.
constexpr int kMaxAttempts = 33;

Status BadOption(const std::string& got) {
  return Mismatch(
      reason::ARGUMENT_INVALID, kOption,
      "POSITION=LINK,ROTATION=LINK: position and quaternion of an end effector in the "
      "recording, each with the link of --robot whose it is (ros2: FRAME=LINK or TOPIC=LINK)",
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
  return joints;
}

std::vector<double> EndEffectorJoints::StartOf(int attempt) const {
  std::vector<double> start = RestValues(*robot_);
  for (std::size_t c = 0; attempt > 0 && c < start.size(); ++c) {
    const PhiloxWords words =
        Philox(0, static_cast<std::uint32_t>(RandomStream::kDataGeneration),
               static_cast<std::uint32_t>(attempt), static_cast<std::uint32_t>(c), 0);
    start[c] = BetweenLimits(JointOf(*robot_, c), attempt == 1 ? 0.5 : ToUniform(words.word[0]));
  }
  return start;
}

EndEffectorJoints::Track EndEffectorJoints::Follow(std::size_t end_effector,
                                                   std::vector<double> start,
                                                   const std::vector<std::vector<double>>& rows,
                                                   std::span<const std::vector<Transform>> poses,
                                                   const std::stop_token& stop) const {
  const EndEffector& end = end_effectors_[end_effector];
  const std::vector<bool>& held = held_[end_effector];
  Track track;
  for (std::size_t s = 0; s < rows.size() && !stop.stop_requested(); ++s) {
    for (std::size_t c = 0; c < start.size(); ++c) {
      if (held[c]) start[c] = rows[s][c];
    }
    const Transform& pose = poses[s][end_effector];
    const LinkGoal goal{end.position_link, end.rotation_link, pose.translation_m,
                        pose.rotation_xyzw};
    ReachedGoal reached = ReachGoal(*robot_, goal, start, held);
    if (reached.position_off_m > kReachedM || reached.angle_off_rad > kReachedRad) {
      track.missed_by_m = reached.position_off_m;
      track.missed_by_rad = reached.angle_off_rad;
      break;
    }
    track.most_off_m = std::max(track.most_off_m, reached.position_off_m);
    track.most_off_rad = std::max(track.most_off_rad, reached.angle_off_rad);
    start = std::move(reached.joint_values);
    track.rows.push_back(start);
  }
  return track;
}

StatusOr<std::vector<std::vector<double>>> EndEffectorJoints::Solve(
    std::span<const std::int64_t> step_numbers, std::vector<std::vector<double>> measured_rows,
    std::span<const std::vector<Transform>> poses, const std::stop_token& stop) {
  std::vector<std::vector<double>> rows = std::move(measured_rows);
  for (std::size_t end = 0; end < end_effectors_.size(); ++end) {
    for (std::size_t s = 0; s < rows.size(); ++s) {
      const std::string row = " row " + std::to_string(step_numbers[s]);
      INTERLACER_RETURN_IF_ERROR(ValidateTransform(poses[s][end])
                                     .WithField(end_effectors_[end].position_source + row + ", " +
                                                end_effectors_[end].rotation_source + row +
                                                " (x,y,z,w)"));
    }
    Track best;
    for (int attempt = 0; attempt < kMaxAttempts; ++attempt) {
      Track track = Follow(end, StartOf(attempt), rows, poses, stop);
      if (stop.stop_requested()) return Cancelled("import stopped");
      const bool is_nearer =
          track.rows.size() == best.rows.size() &&
          track.missed_by_m + track.missed_by_rad < best.missed_by_m + best.missed_by_rad;
      if (attempt == 0 || track.rows.size() > best.rows.size() || is_nearer) {
        best = std::move(track);
      }
      if (best.rows.size() == rows.size()) break;
    }
    if (const std::size_t missed = best.rows.size(); missed < rows.size()) {
      return Missed(end, step_numbers[missed], best, poses[missed][end]);
    }
    rows = std::move(best.rows);
    most_off_m_ = std::max(most_off_m_, best.most_off_m);
    most_off_rad_ = std::max(most_off_rad_, best.most_off_rad);
  }
  return rows;
}

Status EndEffectorJoints::Missed(std::size_t end_effector, std::int64_t step, const Track& track,
                                 const Transform& pose) const {
  const EndEffector& end = end_effectors_[end_effector];
  const Vec3d& at = pose.translation_m;
  return OutOfRange(reason::ACTION_OUT_OF_RANGE,
                    "step " + std::to_string(step) + ": expected a pose that link " +
                        robot_->links[static_cast<std::size_t>(end.position_link)].name +
                        " reaches within the joint limits of robot '" + robot_->name + "' to " +
                        NumberText(kReachedM) + " m and " + NumberText(kReachedRad) + " rad" +
                        (track.rows.empty() ? "" : " from the step before") + ", got x,y,z " +
                        NumberText(at[0]) + "," + NumberText(at[1]) + "," + NumberText(at[2]) +
                        " m, of which the nearest is " + NumberText(track.missed_by_m) + " m and " +
                        NumberText(track.missed_by_rad) +
                        " rad off; is it this link's pose, and does the robot stand where the "
                        "recording has it (robot make --base)?")
      .WithField(end.position_source + " row " + std::to_string(step));
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
