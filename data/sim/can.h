#pragma once

/// A can, and grasps from above that lift and carry it: what tasks and trials with cans share.
///
/// The fingers close on the can and hold it by friction alone; nothing ties it to the gripper.
/// Metres, radians, frame of data/sim/robot.h; speeds a step. Deterministic for a given random
/// sequence. Thread-safety: pure functions.

#include <optional>

#include "common/random.h"
#include "data/sim/arm_model.h"
#include "data/sim/scene.h"
#include "data/sim/tool_path.h"

namespace interlacer::sim {

struct CanSize {
  double radius_m = 0;
  double half_height_m = 0;
};
CanSize DrawCanSize(RandomSequence& random);
/// In its colour with a rim of tin at both ends, not yet at a place.
SceneObject MakeCan(const CanSize& size, const Rgb& color, double mass_kg);

/// Where a can may stand, or be brought above.
inline constexpr double kCanAreaHalfX = 0.18, kCanAreaHalfY = 0.22;
bool InCanArea(const Vec3d& place_m);
/// How much further than the can the fingers want to close.
inline constexpr double kSqueezeM = 0.006;
/// Opening at which the fingers of `model` hold a can of this radius.
double HoldingOpeningM(const ArmModel& model, double radius_m);

/// A grasp from above. Heights are the tool's above the table.
struct CanGrasp {
  Vec3d place_m{};  ///< of the can; its height does not count
  double yaw_rad = 0;
  double above_m = 0;  ///< on the way to the can
  double grip_m = 0;
  double closed_m = 0;  ///< opening of fingers that hold the can
  double carry_m = 0;
  double open_m = 0;
};
/// Above the can, down to it, fingers closed, up. The fingers are open until they close.
void AppendGrasp(const CanGrasp& grasp, double speed_m, ToolPath* path);

inline constexpr double kMinCarryM = 0.10, kMaxCarryM = 0.28;  ///< horizontal, from a can's place
inline constexpr double kMaxGraspYawRad = 0.8;
/// Finger tips above the top of the can on their way to it.
inline constexpr double kGraspClearanceM = 0.04;
/// Height of the tool above the can's middle when it grips, and that to which it then rises.
inline constexpr double kMinGripM = 0.005, kMaxGripM = 0.012, kMinRiseM = 0.13, kMaxRiseM = 0.21;
inline constexpr double kMinCarrySpeedM = 0.08, kMaxCarrySpeedM = 0.12;  ///< of the tool, a step

/// What one arm does.
struct ArmPath {
  int arm = 0;
  ToolPath path;
};

inline constexpr double kMissM = 0.05;
inline constexpr double kMaxOnM = 0.20, kMaxOnUpM = 0.08;
/// What one of the arms, whose tools are at `tools`, does next; nothing where the drawn places are
/// out of reach. A grasp as for an upright can of this size at a place drawn evenly from the disc
/// of radius kMissM around `near_m`, then a carry, whether or not there is something between the
/// fingers; or, every other time where an arm's fingers were told to close on the can, fingers as
/// they are to a place within kMaxOnM and kMaxOnUpM.
std::optional<ArmPath> DrawGraspOrCarry(const RobotSetup& robot, const CanSize& can,
                                        const Vec3d& near_m, const std::vector<ToolTarget>& tools,
                                        RandomSequence& random);

}  // namespace interlacer::sim
