#pragma once

/// Points of the two arms by their frames: per arm seven links, gripper base, two finger tips. A
/// twin of what MuJoCo and a robot's description say.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <vector>

#include "common/transforms.h"
#include "data/sim/forward_kinematics.h"

namespace interlacer::sim {

inline constexpr int kArmPoints = kJointCount + 3;
inline constexpr int kKinematicPoints = kArmCount * kArmPoints;

using KinematicPoints = std::array<Vec3d, kKinematicPoints>;

inline KinematicPoints ForwardKinematics(std::span<const double, kStateColumns> state) {
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

inline const std::vector<std::string>& KinematicPointNames() {
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
