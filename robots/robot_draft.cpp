#include "robots/robot_draft.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "common/file_io.h"
#include "common/number_text.h"
#include "common/transforms.h"
#include "robots/forward_kinematics.h"
#include "robots/joint_values.h"

namespace interlacer {
namespace {

Status OptionError(const std::string& option, const std::string& expected, const std::string& got) {
  return Mismatch(reason::ARGUMENT_INVALID, option, expected, "'" + got + "'");
}

StatusOr<int> NamedLink(const Robot& robot, const std::string& option, const std::string& name) {
  const int link = FindLink(robot, name);
  if (link >= 0) return link;
  std::string known;
  for (const RobotLink& other : robot.links) known += (known.empty() ? "" : ", ") + other.name;
  return OptionError(option, "a link of the model: " + known, name);
}

/// Follows mimic joints to the joint at their end.
Status ResolveMimic(RobotDraft* draft, int link) {
  std::vector<RobotLink>& links = draft->robot.links;
  JointMimic total = *links[link].joint.mimic;
  const std::string name = links[link].joint.name;
  for (std::size_t i = 0; links[total.link].joint.mimic; ++i) {
    if (i > links.size() || total.link == link) {
      return Mismatch(reason::SCHEMA_INVALID, "joint '" + name + "'.mimic",
                      "a joint that moves by itself at the end", "joints that follow each other");
    }
    const JointMimic& next = *links[total.link].joint.mimic;
    total = {next.link, total.factor * next.factor, total.factor * next.offset + total.offset};
  }
  if (links[total.link].joint.type == JointType::kFixed) {
    draft->Hold(link, total.factor * draft->rest_values[total.link] + total.offset);
    draft->notes.push_back("joint '" + name + "' follows '" + links[total.link].joint.name +
                           "', which does not move: held still");
    return Status::Ok();
  }
  links[link].joint.mimic = total;
  return Status::Ok();
}

Status ResolveMimics(RobotDraft* draft) {
  for (std::size_t i = 0; i < draft->robot.links.size(); ++i) {
    if (!draft->robot.links[i].joint.mimic) continue;
    INTERLACER_RETURN_IF_ERROR(ResolveMimic(draft, static_cast<int>(i)));
  }
  return Status::Ok();
}

std::string MovingNames(const Robot& robot) {
  std::string names;
  for (int link : MovingJoints(robot)) {
    names += (names.empty() ? "" : ", ") + robot.links[link].joint.name;
  }
  return names;
}

/// The chosen joints become columns; the others are held, and what follows them.
Status ChooseColumns(const std::vector<std::string>& joints, RobotDraft* draft) {
  Robot& robot = draft->robot;
  if (joints.empty()) {
    robot.columns = MovingJoints(robot);
    return Status::Ok();
  }
  std::set<int> chosen;
  for (const std::string& name : joints) {
    const int link = FindJoint(robot, name);
    const bool is_free = link >= 0 && robot.links[link].joint.type != JointType::kFixed &&
                         !robot.links[link].joint.mimic;
    if (!is_free) {
      return OptionError("columns", "a moving joint that follows no other: " + MovingNames(robot),
                         name);
    }
    if (!chosen.insert(link).second) return OptionError("columns", "each joint once", name);
    robot.columns.push_back(link);
  }
  std::string held;
  for (int link : MovingJoints(robot)) {
    if (chosen.contains(link)) continue;
    held += (held.empty() ? "" : ", ") + robot.links[link].joint.name;
    draft->Hold(link, draft->rest_values[link]);
  }
  if (!held.empty()) draft->notes.push_back("held still, being no columns: " + held);
  // Only joints that follow a held one change now.
  return ResolveMimics(draft);
}

Status MarkParts(const MakeRobotOptions& options, Robot* robot) {
  std::set<int> grippers, fingers;
  for (const std::string& name : options.gripper) {
    INTERLACER_ASSIGN_OR_RETURN(const int link, NamedLink(*robot, "gripper", name));
    grippers.insert(link);
  }
  for (const std::string& name : options.fingers) {
    INTERLACER_ASSIGN_OR_RETURN(const int link, NamedLink(*robot, "fingers", name));
    fingers.insert(link);
  }
  for (int i = 0; i < static_cast<int>(robot->links.size()); ++i) {
    RobotLink& link = robot->links[i];
    const LinkPart above = link.parent < 0 ? LinkPart::kBody : robot->links[link.parent].part;
    const bool is_moved = link.joint.type != JointType::kFixed;
    const bool is_inner_finger =
        fingers.empty() && above == LinkPart::kGripper && is_moved && !grippers.contains(i);
    if (fingers.contains(i) || above == LinkPart::kFinger || is_inner_finger) {
      link.part = LinkPart::kFinger;
    } else if (grippers.contains(i) || above == LinkPart::kGripper) {
      link.part = LinkPart::kGripper;
    }
  }
  return Status::Ok();
}

/// Joints of robots make two turns at most.
void NoteDegrees(const Robot& robot, std::vector<std::string>* notes) {
  constexpr double kMostRad = 4 * std::numbers::pi;
  std::string names;
  double farthest = 0;
  for (const RobotLink& link : robot.links) {
    if (link.joint.type != JointType::kRevolute || !link.joint.limits) continue;
    const JointLimits& limits = *link.joint.limits;
    const double most = std::max(std::abs(limits.min), std::abs(limits.max));
    if (most <= kMostRad) continue;
    names += (names.empty() ? "" : ", ") + link.joint.name;
    farthest = std::max(farthest, most);
  }
  if (names.empty()) return;
  notes->push_back("limits up to " + NumberText(farthest) +
                   " rad, beyond two turns: are those of " + names +
                   " degrees? they must be radians");
}

/// The longest side of the box around the robot at rest.
double LongestSideM(const Robot& robot) {
  const std::vector<Transform> links = LinkPoses(robot, RestValues(robot));
  Vec3d low = links.front().translation_m, high = low;
  const auto add = [&](const Vec3d& point_m) {
    for (int axis = 0; axis < 3; ++axis) {
      low[axis] = std::min(low[axis], point_m[axis]);
      high[axis] = std::max(high[axis], point_m[axis]);
    }
  };
  for (const Transform& link : links) add(link.translation_m);
  for (std::size_t i = 0; i < robot.surface.size(); ++i) {
    const Vec3f& p = robot.surface.positions_m[i];
    add(Apply(links[static_cast<std::size_t>(robot.surface.links[i])], {p[0], p[1], p[2]}));
  }
  return std::max({high[0] - low[0], high[1] - low[1], high[2] - low[2]});
}

void NoteMillimetres(const Robot& robot, std::vector<std::string>* notes) {
  constexpr double kMostM = 10;
  const double side_m = LongestSideM(robot);
  if (side_m <= kMostM) return;
  notes->push_back("the robot is " + NumberText(std::round(side_m)) +
                   " m long at rest: are its lengths millimetres? they must be metres");
}

}  // namespace

int RobotDraft::AddLink(RobotLink link, double rest_value) {
  robot.links.push_back(std::move(link));
  rest_values.push_back(rest_value);
  return static_cast<int>(robot.links.size()) - 1;
}

void RobotDraft::Hold(int link, double value) {
  RobotJoint& joint = robot.links[link].joint;
  joint.parent_from_joint = Compose(joint.parent_from_joint, JointMotion(joint, value));
  joint.type = JointType::kFixed;
  joint.axis = {0, 0, 1};
  joint.limits.reset();
  joint.max_speed.reset();
  joint.mimic.reset();
  rest_values[link] = value;
}

bool WantsSurface(const MakeRobotOptions& options, const std::string& link_name, bool is_default) {
  if (options.links.empty()) return is_default;
  return std::find(options.links.begin(), options.links.end(), link_name) != options.links.end();
}

void AddSurface(const SurfaceSampler& sampler, int link, Robot* robot) {
  for (const SurfacePoint& point : sampler.Draw()) {
    robot->surface.positions_m.push_back(point.position_m);
    robot->surface.normals.push_back(point.normal);
    robot->surface.links.push_back(link);
  }
}

StatusOr<MadeRobot> FinishRobot(RobotDraft draft, const MakeRobotOptions& options) {
  Robot& robot = draft.robot;
  for (const std::string& name : options.links) {
    INTERLACER_RETURN_IF_ERROR(NamedLink(robot, "links", name).status());
  }
  INTERLACER_RETURN_IF_ERROR(ResolveMimics(&draft));
  INTERLACER_RETURN_IF_ERROR(ChooseColumns(options.columns, &draft));
  INTERLACER_RETURN_IF_ERROR(MarkParts(options, &robot));
  if (Status status = ValidateTransform(options.world_from_base); !status.ok()) {
    return std::move(status).WithFieldPrefix("base");
  }
  RobotJoint& root = robot.links[0].joint;
  root.parent_from_joint = Compose(options.world_from_base, root.parent_from_joint);
  if (!options.name.empty()) robot.name = options.name;
  INTERLACER_RETURN_IF_ERROR(ValidateRobot(robot));
  NoteDegrees(robot, &draft.notes);
  NoteMillimetres(robot, &draft.notes);
  return MadeRobot{std::move(robot), std::move(draft.notes)};
}

Status MeshError(const std::string& file, const std::string& link, const std::string& problem) {
  return InvalidArgument(reason::FILE_UNREADABLE,
                         "mesh " + file + " of link '" + link + "': " + problem)
      .WithField(file);
}

Status CheckMeshSize(const std::string& file, const std::string& link, std::int64_t* total_bytes) {
  const StatusOr<std::int64_t> size_bytes = FileSizeBytes(file);
  if (!size_bytes.ok()) return MeshError(file, link, size_bytes.status().message());
  *total_bytes += *size_bytes;
  if (*size_bytes > kMaxMeshBytes || *total_bytes > kMaxMeshBytesOfRobot) {
    return MeshError(file, link,
                     "expected at most " + std::to_string(kMaxMeshBytes) + " bytes, " +
                         std::to_string(kMaxMeshBytesOfRobot) + " with the meshes before, got " +
                         std::to_string(*size_bytes) + " and " + std::to_string(*total_bytes));
  }
  return Status::Ok();
}

}  // namespace interlacer
