#include "data/sim/forward_kinematics.h"

#include <cmath>

#include "common/transforms.h"

namespace interlacer::sim {

ArmFrames ComputeArmFrames(const ArmModel& model, int arm, const ArmJoints& joint_rad) {
  ArmFrames frames;
  Transform world_from_parent = WorldFromBase(model, arm);
  for (int j = 0; j < kJointCount; ++j) {
    const double half = joint_rad[j] / 2;
    const Transform turn = {{0, 0, 0}, {0, 0, std::sin(half), std::cos(half)}};
    world_from_parent = Compose(Compose(world_from_parent, model.links[j].parent_from_link), turn);
    frames.world_from_link[j] = world_from_parent;
  }
  frames.world_from_gripper = Compose(world_from_parent, model.link_7_from_gripper);
  return frames;
}

}  // namespace interlacer::sim
