#pragma once

/// The tasks lift_can and drop_can: an arm grasps a can, lifts it, carries it and lets it go.
///
/// The fingers close on the can and hold it by friction alone; nothing ties it to the gripper.
/// lift_can sets it down upright on another place of the table, drop_can lets it fall from where it
/// was carried, at rest or in motion, onto the edge of a low board, so that it may topple and roll.
/// The other arm moves about above its own end of the table. After an episode of the usual length
/// lift_can begins again.

#include <optional>

#include "data/sim/tasks.h"
#include "data/sim/tool_path.h"

namespace interlacer::sim {

enum class CanEnding { kSetDown, kDrop };

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
/// Speed of the tool, a step.
inline constexpr double kMinCarrySpeedM = 0.08, kMaxCarrySpeedM = 0.12;

/// Opening at which the fingers of `model` hold a can of this radius.
double HoldingOpeningM(const ArmModel& model, double radius_m);
/// Where a can may stand, or be brought above.
bool InCanArea(const Vec3d& place_m);

class MoveCan final : public Task {
 public:
  MoveCan(const RobotSetup& robot, RandomSequence random, ColorSet colors, CanEnding ending);

  std::string Text() const override;
  ToolTargets Prepare(Scene& scene) override;
  ToolTargets Next(const std::vector<Transform>& world_from_object) override;
  const ToolTargets& tools() const { return tool_; }
  bool Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const override;

 private:
  /// An arm and a place to carry the can to from `can_m`; false if none was found.
  bool DrawCarry(const Vec3d& can_m, int& arm, Vec3d& end_m);
  /// The whole motion of an arm, from where its path ends, and where the can then is above; nothing
  /// if no way was found.
  std::optional<Vec3d> PlanCarry(const Vec3d& can_m);
  /// A board on whose edge a can dropped at `end_m` lands.
  SceneObject DrawBoard(const Vec3d& end_m, double bearing_rad);

  RobotSetup robot_;
  RandomSequence random_;
  ColorSet colors_;
  CanEnding ending_;
  double speed_m_;  ///< per step
  double radius_m_;
  double half_height_m_;
  std::string color_name_;
  int step_ = 0;
  int carrying_arm_ = -1;
  ToolTargets tool_;
  std::vector<ToolPath> path_;  ///< of every arm
};

}  // namespace interlacer::sim
