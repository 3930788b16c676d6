#include "data/sim/forward_kinematics.h"

#include <algorithm>
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

KinematicPoints ForwardKinematics(std::span<const double, kStateColumns> state) {
  const ArmModel& model = KukaIiwa();
  KinematicPoints points;
  for (int arm = 0; arm < kArmCount; ++arm) {
    const double* const columns = state.data() + arm * kArmColumns;
    ArmJoints joint_rad;
    std::copy_n(columns, kJointCount, joint_rad.begin());
    const ArmFrames frames = ComputeArmFrames(model, arm, joint_rad);
    Vec3d* const out = points.data() + arm * kArmPoints;
    for (int j = 0; j < kJointCount; ++j) out[j] = frames.world_from_link[j].translation_m;
    out[kJointCount] = frames.world_from_gripper.translation_m;
    const double spread_m = model.finger_offset_m + columns[kJointCount];
    out[kJointCount + 1] = Apply(frames.world_from_gripper, {0, spread_m, model.finger_length_m});
    out[kJointCount + 2] = Apply(frames.world_from_gripper, {0, -spread_m, model.finger_length_m});
  }
  return points;
}

const std::vector<std::string>& KinematicPointNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> made;
    for (const std::string_view arm : kArmNames) {
      const std::string prefix = std::string(arm) + "_";
      for (int j = 1; j <= kJointCount; ++j) made.push_back(prefix + "link_" + std::to_string(j));
      made.push_back(prefix + "gripper");
      for (int finger = 1; finger <= 2; ++finger) {
        made.push_back(prefix + "finger_" + std::to_string(finger));
      }
    }
    return made;
  }();
  return names;
}

}  // namespace interlacer::sim
