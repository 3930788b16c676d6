#pragma once

/// A robot as a tree of rigid links with points on their surfaces; what a robot folder holds.
///
/// One tree may hold several arms: then its root is a link without surface on which they stand.
/// Metres and radians. Every link hangs on its parent by one joint; the frame of the link is that
/// of the joint, moved by it: parent_from_link = parent_from_joint * motion(axis, value), as in
/// URDF. The root's joint is fixed and its origin is world_from_root, where the robot stands.
/// Column c of joint values (actions, measured states) belongs to the joint of link columns[c].
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID with a path such as "links[3].joint.axis", the name of
/// the link, expected and got. Thread-safety: value types, pure functions.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/geometry.h"
#include "common/status.h"

namespace interlacer {

enum class JointType { kFixed, kRevolute, kContinuous, kPrismatic };

/// Fingers are the parts of a gripper that hold things, the gripper is what carries them.
enum class LinkPart { kBody, kGripper, kFinger };

/// rad for revolute, m for prismatic joints.
struct JointLimits {
  double min = 0;
  double max = 0;
  bool operator==(const JointLimits&) const = default;
};

/// value = factor * value of the joint of `link` + offset.
struct JointMimic {
  int link = 0;
  double factor = 1;
  double offset = 0;
  bool operator==(const JointMimic&) const = default;
};

struct RobotJoint {
  std::string name;  ///< may be empty where the joint is fixed
  JointType type = JointType::kFixed;
  Transform parent_from_joint{};
  Vec3d axis{0, 0, 1};  ///< unit, in the joint's frame
  std::optional<JointLimits> limits{};
  std::optional<double> max_speed{};  ///< above 0, rad/s or m/s; what commands may ask for
  std::optional<JointMimic> mimic{};
  bool operator==(const RobotJoint&) const = default;
};

struct RobotLink {
  std::string name;
  int parent = -1;  ///< index below the link's own; -1 for the root, which is the first link
  LinkPart part = LinkPart::kBody;
  RobotJoint joint{};
  bool operator==(const RobotLink&) const = default;
};

/// Points of one link stand together; any first k of them lie evenly over the link's surface.
struct SurfacePoints {
  std::vector<Vec3f> positions_m;   ///< [n,3] in the frame of their link
  std::vector<Vec3f> normals;       ///< [n,3] unit
  std::vector<std::int64_t> links;  ///< [n]
  std::size_t size() const { return links.size(); }
  bool operator==(const SurfacePoints&) const = default;
};

struct Robot {
  std::string name;
  std::string source;  ///< what it was made of, for people
  std::vector<RobotLink> links;
  std::vector<int> columns;  ///< [c] link whose joint a column of joint values moves
  SurfacePoints surface;
  std::string sha256;  ///< of the folder that it was read from, else empty
};

inline constexpr std::size_t kMaxRobotLinks = 4096;
inline constexpr std::size_t kMaxSurfacePoints = std::size_t{1} << 20;

/// "fixed", "revolute", "continuous", "prismatic".
std::string_view NameOf(JointType type);
/// "body", "gripper", "finger".
std::string_view NameOf(LinkPart part);
/// "m" for prismatic joints, else "rad".
std::string_view UnitOf(JointType type);

/// Every rule: a tree with parents first, names once, unit axes, limits in order, finite numbers,
/// mimic joints that follow a column, each other moving joint in one column, a surface.
Status ValidateRobot(const Robot& robot);

/// Index of a link or of a joint's link by name, or -1.
int FindLink(const Robot& robot, std::string_view link_name);
int FindJoint(const Robot& robot, std::string_view joint_name);

/// Whether links and joints are the same to 1e-3 (metres, parts of axes and quaternions), in the
/// same columns; names, limits and where the roots stand may differ.
bool IsSameTree(const Robot& a, const Robot& b);

/// Indices of the moving joints without mimic, in the order of the links.
std::vector<int> MovingJoints(const Robot& robot);

}  // namespace interlacer
