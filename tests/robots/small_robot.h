#pragma once

/// A small robot with every kind of joint: base, turning arm, sliding hand, two fingers.

#include <cmath>

#include "robots/robot.h"

namespace interlacer::testing {

inline Robot SmallRobot() {
  Robot robot;
  robot.name = "small";
  robot.source = "made by a test";
  RobotLink base{.name = "base"};
  base.joint.parent_from_joint = {{0.1, 0.2, 0.3}, {0, 0, std::sqrt(0.5), std::sqrt(0.5)}};
  RobotLink arm{.name = "arm", .parent = 0};
  arm.joint = {.name = "turn",
               .type = JointType::kRevolute,
               .parent_from_joint = {{0, 0, 0.5}, {0, 0, 0, 1}},
               .axis = {0, 1, 0},
               .limits = JointLimits{-1, 2},
               .max_speed = 1.5,
               .mimic = {}};
  RobotLink hand{.name = "hand", .parent = 1, .part = LinkPart::kGripper};
  hand.joint = {.name = "roll",
                .type = JointType::kContinuous,
                .parent_from_joint = {{0, 0, 0.4}, {0, 0, 0, 1}},
                .axis = {0, 0, 1},
                .limits = {},
                .mimic = {}};
  RobotLink left{.name = "left_finger", .parent = 2, .part = LinkPart::kFinger};
  left.joint = {.name = "grip",
                .type = JointType::kPrismatic,
                .parent_from_joint = {{0, 0.01, 0.1}, {0, 0, 0, 1}},
                .axis = {0, 1, 0},
                .limits = JointLimits{0, 0.04},
                .mimic = {}};
  RobotLink right = left;
  right.name = "right_finger";
  right.joint.name = "grip_too";
  right.joint.parent_from_joint.translation_m[1] = -0.01;
  right.joint.mimic = JointMimic{3, -1, 0.001};
  robot.links = {base, arm, hand, left, right};
  robot.columns = {1, 2, 3};
  for (std::int64_t link = 0; link < 5; ++link) {
    for (int i = 0; i < 3; ++i) {
      robot.surface.positions_m.push_back({0.01f * i, 0.02f, 0.03f * link});
      robot.surface.normals.push_back({i == 0 ? 1.f : 0.f, i == 1 ? 1.f : 0.f, i == 2 ? 1.f : 0.f});
      robot.surface.links.push_back(link);
    }
  }
  return robot;
}

}  // namespace interlacer::testing
