#include "robots/robot.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "common/number_text.h"
#include "common/transforms.h"

namespace interlacer {
namespace {

constexpr double kUnitTolerance = 1e-3;
/// Nothing of a robot is farther than this from its parent or from its own frame.
constexpr double kMaxExtentM = 100;

std::string LinkPath(std::size_t link) { return "links[" + std::to_string(link) + "]"; }

/// An error at a field of a link that says which link it is.
Status LinkError(const Robot& robot, std::size_t link, const std::string& field,
                 std::string expected, const std::string& got) {
  return Mismatch(reason::SCHEMA_INVALID, LinkPath(link) + "." + field, std::move(expected),
                  got + " (link '" + robot.links[link].name + "')");
}

template <typename T>
double Norm(const std::array<T, 3>& v) {
  return std::sqrt(double{v[0]} * v[0] + double{v[1]} * v[1] + double{v[2]} * v[2]);
}

/// Refuses NaN as well.
bool IsUnit(double norm) { return std::abs(norm - 1) <= kUnitTolerance; }

std::string CycleText(const Robot& robot, int link) {
  std::string text = robot.links[link].name;
  for (int at = robot.links[link].parent; at != link; at = robot.links[at].parent) {
    text += " -> " + robot.links[at].name;
  }
  return text + " -> " + robot.links[link].name;
}

/// Whether the way up from `link` comes back to it.
bool IsInCycle(const Robot& robot, int link) {
  int at = robot.links[link].parent;
  for (std::size_t i = 0; i < robot.links.size() && at >= 0 && at != link; ++i) {
    at = robot.links[at].parent;
  }
  return at == link;
}

Status CheckTree(const Robot& robot) {
  if (robot.links.empty() || robot.links.size() > kMaxRobotLinks) {
    return Mismatch(reason::SCHEMA_INVALID, "links", "1 to " + std::to_string(kMaxRobotLinks),
                    std::to_string(robot.links.size()));
  }
  const int count = static_cast<int>(robot.links.size());
  std::set<std::string_view> names;
  for (int i = 0; i < count; ++i) {
    const RobotLink& link = robot.links[i];
    if (link.name.empty()) return LinkError(robot, i, "name", "a name", "none");
    if (!names.insert(link.name).second) {
      return LinkError(robot, i, "name", "each name once", "a second one of this name");
    }
    if (link.parent < -1 || link.parent >= count) {
      return LinkError(robot, i, "parent", "a link", "link " + std::to_string(link.parent));
    }
  }
  for (int i = 0; i < count; ++i) {
    if (IsInCycle(robot, i)) {
      return LinkError(robot, i, "parent", "a tree", "the cycle " + CycleText(robot, i));
    }
  }
  for (int i = 0; i < count; ++i) {
    const int parent = robot.links[i].parent;
    if (i == 0 && parent != -1) {
      return LinkError(robot, i, "parent", "none: the root comes first", robot.links[parent].name);
    }
    if (i > 0 && parent == -1) {
      return LinkError(robot, i, "parent", "one root, '" + robot.links[0].name + "'", "another");
    }
    if (parent >= i) {
      return LinkError(robot, i, "parent", "parents before their children",
                       "the later link '" + robot.links[parent].name + "'");
    }
  }
  return Status::Ok();
}

Status CheckMimic(const Robot& robot, std::size_t i) {
  const JointMimic& mimic = *robot.links[i].joint.mimic;
  const bool is_link = mimic.link >= 0 && mimic.link < static_cast<int>(robot.links.size());
  const RobotJoint* followed = is_link ? &robot.links[mimic.link].joint : nullptr;
  if (followed == nullptr || followed->type == JointType::kFixed || followed->mimic) {
    return LinkError(robot, i, "joint.mimic.joint", "a moving joint that follows no other",
                     followed == nullptr ? "no joint" : "'" + followed->name + "'");
  }
  if (!std::isfinite(mimic.factor) || !std::isfinite(mimic.offset)) {
    return LinkError(robot, i, "joint.mimic", "finite numbers", "others");
  }
  return Status::Ok();
}

Status CheckJoint(const Robot& robot, std::size_t i) {
  const RobotJoint& joint = robot.links[i].joint;
  if (Status status = ValidateTransform(joint.parent_from_joint); !status.ok()) {
    return LinkError(robot, i, "joint.origin." + status.field(), status.metadata().at("expected"),
                     status.metadata().at("got"));
  }
  if (Norm(joint.parent_from_joint.translation_m) > kMaxExtentM) {
    return LinkError(robot, i, "joint.origin.translation_m",
                     "at most " + NumberText(kMaxExtentM) + " m",
                     NumberText(Norm(joint.parent_from_joint.translation_m)) + " m");
  }
  if (joint.type == JointType::kFixed) {
    if (!joint.limits && !joint.mimic && !joint.max_speed) return Status::Ok();
    return LinkError(robot, i, "joint", "no limits, speed and mimic at a fixed joint", "some");
  }
  if (i == 0)
    return LinkError(robot, i, "joint.type", "fixed: the root", NameOf(joint.type).data());
  if (joint.name.empty()) return LinkError(robot, i, "joint.name", "a name", "none");
  if (!IsUnit(Norm(joint.axis))) {
    return LinkError(robot, i, "joint.axis", "a vector of length 1",
                     "one of length " + NumberText(Norm(joint.axis)));
  }
  const auto& limits = joint.limits;
  const std::string unit(UnitOf(joint.type));
  if (joint.max_speed && !(*joint.max_speed > 0 && std::isfinite(*joint.max_speed))) {
    return LinkError(robot, i, "joint.max_speed_" + unit + "_per_s", "a finite number above 0",
                     NumberText(*joint.max_speed));
  }
  if (!limits && joint.type == JointType::kRevolute) {
    return LinkError(robot, i, "joint.limits_rad", "limits, or the type continuous", "none");
  }
  if (limits && joint.type == JointType::kContinuous) {
    return LinkError(robot, i, "joint.limits_rad", "none at a continuous joint", "some");
  }
  const bool is_range = !limits || (std::isfinite(limits->min) && std::isfinite(limits->max) &&
                                    limits->min < limits->max);
  if (!is_range) {
    return LinkError(robot, i, "joint.limits_" + unit, "min < max, finite",
                     "min " + NumberText(limits->min) + ", max " + NumberText(limits->max));
  }
  return joint.mimic ? CheckMimic(robot, i) : Status::Ok();
}

Status CheckColumns(const Robot& robot) {
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const RobotJoint& joint = robot.links[i].joint;
    if (!joint.name.empty() && !names.insert(joint.name).second) {
      return LinkError(robot, i, "joint.name", "each name once", "'" + joint.name + "' again");
    }
  }
  std::vector<int> wanted = MovingJoints(robot), got = robot.columns;
  std::sort(got.begin(), got.end());
  for (std::size_t c = 0; c < std::max(wanted.size(), got.size()); ++c) {
    const int wants = c < wanted.size() ? wanted[c] : -1, has = c < got.size() ? got[c] : -1;
    if (wants == has) continue;
    const int odd = wants >= 0 ? wants : has;
    const bool is_link = odd >= 0 && odd < static_cast<int>(robot.links.size());
    return Mismatch(reason::SCHEMA_INVALID, "columns",
                    "each moving joint that follows no other, once",
                    "other ones at '" + (is_link ? robot.links[odd].joint.name : "") + "'");
  }
  return Status::Ok();
}

Status CheckSurface(const Robot& robot) {
  const SurfacePoints& surface = robot.surface;
  const std::size_t count = surface.size();
  if (count == 0) {
    return Mismatch(reason::SCHEMA_INVALID, "surface_points", "points on the robot's surface",
                    "none");
  }
  if (count > kMaxSurfacePoints || surface.positions_m.size() != count ||
      surface.normals.size() != count) {
    return Mismatch(
        reason::SCHEMA_INVALID, "surface_points",
        "as many positions, normals and links, at most " + std::to_string(kMaxSurfacePoints),
        std::to_string(surface.positions_m.size()) + ", " + std::to_string(surface.normals.size()) +
            " and " + std::to_string(count));
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::int64_t link = surface.links[i];
    const std::string index = "[" + std::to_string(i) + "]";
    if (link < 0 || link >= static_cast<std::int64_t>(robot.links.size())) {
      return Mismatch(reason::SCHEMA_INVALID, "surface_links" + index,
                      "below " + std::to_string(robot.links.size()), std::to_string(link));
    }
    const std::string name = " (link '" + robot.links[link].name + "')";
    if (!(Norm(surface.positions_m[i]) <= kMaxExtentM)) {
      return Mismatch(reason::SCHEMA_INVALID, "surface_points" + index,
                      "finite, at most " + NumberText(kMaxExtentM) + " m from the link's frame",
                      NumberText(Norm(surface.positions_m[i])) + " m" + name);
    }
    if (!IsUnit(Norm(surface.normals[i]))) {
      return Mismatch(reason::SCHEMA_INVALID, "surface_normals" + index, "a vector of length 1",
                      "one of length " + NumberText(Norm(surface.normals[i])) + name);
    }
  }
  return Status::Ok();
}

}  // namespace

std::string_view NameOf(JointType type) {
  switch (type) {
    case JointType::kFixed:
      return "fixed";
    case JointType::kRevolute:
      return "revolute";
    case JointType::kContinuous:
      return "continuous";
    case JointType::kPrismatic:
      return "prismatic";
  }
  return "";
}

std::string_view NameOf(LinkPart part) {
  switch (part) {
    case LinkPart::kBody:
      return "body";
    case LinkPart::kGripper:
      return "gripper";
    case LinkPart::kFinger:
      return "finger";
  }
  return "";
}

std::string_view UnitOf(JointType type) { return type == JointType::kPrismatic ? "m" : "rad"; }

Status ValidateRobot(const Robot& robot) {
  if (robot.name.empty()) return Mismatch(reason::SCHEMA_INVALID, "name", "a name", "none");
  INTERLACER_RETURN_IF_ERROR(CheckTree(robot));
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    INTERLACER_RETURN_IF_ERROR(CheckJoint(robot, i));
  }
  INTERLACER_RETURN_IF_ERROR(CheckColumns(robot));
  return CheckSurface(robot);
}

int FindLink(const Robot& robot, std::string_view link_name) {
  const auto found = std::find_if(robot.links.begin(), robot.links.end(),
                                  [&](const RobotLink& link) { return link.name == link_name; });
  return found == robot.links.end() ? -1 : static_cast<int>(found - robot.links.begin());
}

int FindJoint(const Robot& robot, std::string_view joint_name) {
  if (joint_name.empty()) return -1;
  const auto found =
      std::find_if(robot.links.begin(), robot.links.end(),
                   [&](const RobotLink& link) { return link.joint.name == joint_name; });
  return found == robot.links.end() ? -1 : static_cast<int>(found - robot.links.begin());
}

bool IsSameTree(const Robot& a, const Robot& b) {
  constexpr double kTolerance = 1e-3;
  const auto is_near = [](const auto& x, const auto& y) {
    return std::equal(x.begin(), x.end(), y.begin(),
                      [](double u, double v) { return std::abs(u - v) <= kTolerance; });
  };
  const auto is_same = [&](const RobotLink& x, const RobotLink& y) {
    const Transform &from_x = x.joint.parent_from_joint, &from_y = y.joint.parent_from_joint;
    const auto &q = from_x.rotation_xyzw, &p = from_y.rotation_xyzw;
    if (x.parent != y.parent || x.joint.type != y.joint.type) return false;
    if (!is_near(x.joint.axis, y.joint.axis)) return false;
    return x.parent == -1 ||
           (is_near(from_x.translation_m, from_y.translation_m) &&
            (is_near(q, p) || is_near(q, decltype(q){-p[0], -p[1], -p[2], -p[3]})));
  };
  return a.columns == b.columns &&
         std::equal(a.links.begin(), a.links.end(), b.links.begin(), b.links.end(), is_same);
}

std::vector<int> MovingJoints(const Robot& robot) {
  std::vector<int> moving;
  for (std::size_t i = 0; i < robot.links.size(); ++i) {
    const RobotJoint& joint = robot.links[i].joint;
    if (joint.type != JointType::kFixed && !joint.mimic) moving.push_back(static_cast<int>(i));
  }
  return moving;
}

}  // namespace interlacer
