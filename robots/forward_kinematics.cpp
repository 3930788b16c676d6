#include "robots/forward_kinematics.h"

#include <cmath>

#include "common/check.h"
#include "common/transforms.h"

namespace interlacer {

Transform JointMotion(const RobotJoint& joint, double value) {
  Transform motion;
  if (joint.type == JointType::kFixed) return motion;
  if (joint.type == JointType::kPrismatic) {
    for (int i = 0; i < 3; ++i) motion.translation_m[i] = value * joint.axis[i];
    return motion;
  }
  const double s = std::sin(value / 2);
  motion.rotation_xyzw = {s * joint.axis[0], s * joint.axis[1], s * joint.axis[2],
                          std::cos(value / 2)};
  return motion;
}

std::vector<Transform> LinkPoses(const Robot& robot, std::span<const double> joint_values) {
  INTERLACER_CHECK(joint_values.size() == robot.columns.size(),
                   std::to_string(joint_values.size()) + " joint values");
  const std::size_t count = robot.links.size();
  std::vector<double> values(count, 0.0);
  for (std::size_t c = 0; c < joint_values.size(); ++c) values[robot.columns[c]] = joint_values[c];

  std::vector<Transform> world_from_link(count);
  for (std::size_t i = 0; i < count; ++i) {
    const RobotJoint& joint = robot.links[i].joint;
    const double value = joint.mimic
                             ? joint.mimic->factor * values[joint.mimic->link] + joint.mimic->offset
                             : values[i];
    const Transform parent_from_link = Compose(joint.parent_from_joint, JointMotion(joint, value));
    const int parent = robot.links[i].parent;
    world_from_link[i] =
        parent < 0 ? parent_from_link : Compose(world_from_link[parent], parent_from_link);
  }
  return world_from_link;
}

PosedSurface PoseSurface(const Robot& robot, std::span<const Transform> world_from_link) {
  INTERLACER_CHECK(world_from_link.size() == robot.links.size(), "a pose of each link");
  const SurfacePoints& surface = robot.surface;
  PosedSurface posed;
  posed.positions_m.reserve(surface.size());
  posed.normals.reserve(surface.size());
  for (std::size_t i = 0; i < surface.size(); ++i) {
    const Transform& pose = world_from_link[surface.links[i]];
    const Transform turn{{0, 0, 0}, pose.rotation_xyzw};
    const Vec3f& p = surface.positions_m[i];
    const Vec3f& n = surface.normals[i];
    posed.positions_m.push_back(Apply(pose, {p[0], p[1], p[2]}));
    posed.normals.push_back(Apply(turn, {n[0], n[1], n[2]}));
  }
  return posed;
}

}  // namespace interlacer
