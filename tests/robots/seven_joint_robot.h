#pragma once

/// An arm of seven joints like most, with a gripper of two fingers that move together.

#include <cmath>
#include <string>
#include <vector>

#include "robots/robot.h"

namespace interlacer::testing {

/// Links: base, link_1 ... link_7, tool (fixed, turned), left_finger, right_finger. Reaches 0.95 m.
inline Robot SevenJointRobot() {
  Robot robot;
  robot.name = "seven";
  robot.links.push_back({.name = "base"});
  robot.links[0].joint.parent_from_joint.translation_m = {0.1, -0.2, 0.3};
  const double lengths_m[7] = {0.2, 0.1, 0.2, 0.1, 0.2, 0.1, 0.05};
  for (int j = 0; j < 7; ++j) {
    RobotLink link{.name = "link_" + std::to_string(j + 1), .parent = j};
    link.joint.name = "joint_" + std::to_string(j + 1);
    link.joint.type = JointType::kRevolute;
    link.joint.parent_from_joint.translation_m = {0, 0, lengths_m[j]};
    link.joint.axis = j % 2 == 0 ? Vec3d{0, 0, 1} : Vec3d{0, 1, 0};
    link.joint.limits = j % 2 == 0 ? JointLimits{-2.8, 2.8} : JointLimits{-2, 2};
    robot.links.push_back(std::move(link));
    robot.columns.push_back(j + 1);
  }
  RobotLink tool{.name = "tool", .parent = 7, .part = LinkPart::kGripper};
  tool.joint.parent_from_joint = {{0, 0, 0.1}, {0, 0, std::sqrt(0.5), std::sqrt(0.5)}};
  robot.links.push_back(tool);
  RobotLink finger{.name = "left_finger", .parent = 8, .part = LinkPart::kFinger};
  finger.joint.name = "grip";
  finger.joint.type = JointType::kPrismatic;
  finger.joint.axis = {0, 1, 0};
  finger.joint.limits = JointLimits{0, 0.04};
  robot.links.push_back(finger);
  finger.name = "right_finger";
  finger.joint.name = "grip_too";
  finger.joint.mimic = JointMimic{9, -1, 0};
  robot.links.push_back(finger);
  robot.columns.push_back(9);
  robot.surface = {{{0, 0, 0.05f}, {0.02f, 0, 0}}, {{0, 0, 1}, {1, 0, 0}}, {1, 8}};
  return robot;
}

/// Joint values at a time from 0 on: a smooth motion within the limits, the gripper closing.
inline std::vector<double> SevenJointMotion(double time_s) {
  std::vector<double> values;
  for (int j = 0; j < 7; ++j) values.push_back(0.5 * std::sin(0.4 * time_s + 1 + j));
  values.push_back(0.04 - 0.002 * time_s);
  return values;
}

}  // namespace interlacer::testing
