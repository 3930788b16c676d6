#pragma once

/// The tasks lift_can and drop_can: an arm grasps a can, lifts it, carries it and lets it go.
///
/// lift_can sets it down upright on another place of the table, drop_can lets it fall from where it
/// was carried, at rest or in motion, onto the edge of a low board, so that it may topple and roll.
/// The other arm moves about above its own end of the table. After an episode of the usual length
/// lift_can begins again.

#include <optional>

#include "data/sim/can.h"
#include "data/sim/tasks.h"

namespace interlacer::sim {

enum class CanEnding { kSetDown, kDrop };

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
  CanSize can_;
  std::string color_name_;
  int step_ = 0;
  int carrying_arm_ = -1;
  ToolTargets tool_;
  std::vector<ToolPath> path_;  ///< of every arm
};

}  // namespace interlacer::sim
