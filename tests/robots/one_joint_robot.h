#pragma once

/// The smallest robot that has a joint, for importers' tests.

#include "robots/robot.h"

namespace interlacer::testing {

/// Two links and one turning joint "elbow", limits -3 to 3.
inline Robot OneJointRobot() {
  Robot robot;
  robot.name = "one_joint";
  robot.links.resize(2);
  robot.links[0].name = "base";
  robot.links[1].name = "arm";
  robot.links[1].parent = 0;
  robot.links[1].joint.name = "elbow";
  robot.links[1].joint.type = JointType::kRevolute;
  robot.links[1].joint.limits = JointLimits{-3, 3};
  robot.columns = {1};
  robot.surface = {{{0, 0, 0.1f}}, {{0, 0, 1}}, {1}};
  return robot;
}

}  // namespace interlacer::testing
