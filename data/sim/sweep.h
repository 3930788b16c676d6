#pragma once

/// The task sweep: one arm lays a dustpan on the table, the other brushes litter into it.
///
/// Both tools are in the grippers from the start and fixed to them. The pan comes down, the brush
/// makes two strokes towards its mouth, side by side, and then the pan rises with what it holds.
/// The pan opens along the tool axis, away from its own arm, the brush comes from the other side.
/// Tools glide over the table without touching it; litter is pushed by the bristles and slides up
/// the ramp of the pan.

#include "data/sim/tasks.h"
#include "data/sim/tool_path.h"

namespace interlacer::sim {

class Sweep final : public Task {
 public:
  Sweep(const RobotSetup& robot, RandomSequence random, ColorSet colors);

  std::string Text() const override;
  ToolTargets Prepare(Scene& scene) override;
  ToolTargets Next(const std::vector<Transform>& world_from_object) override;
  bool Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const override;

 private:
  void AddLitter(Scene& scene);
  void PlanStrokes();
  /// Goal of the brush whose bristles' front is `ahead_m` before the mouth of the pan and
  /// `beside_m` off its middle line, `lift_m` above sweeping height.
  ToolTarget BrushAt(double ahead_m, double beside_m, double lift_m) const;
  ToolTarget PanAt(double back_m, double lift_m) const;

  RobotSetup robot_;
  RandomSequence random_;
  ColorSet colors_;
  double speed_m_;  ///< per step
  int pan_arm_;
  double yaw_rad_;      ///< of both grippers
  double heading_rad_;  ///< world direction from the pan's handle to its mouth
  Vec3d mouth_m_{};     ///< middle of the pan's mouth on the table
  int litter_count_;
  ToolTargets tool_;
  std::vector<ToolPath> path_;  ///< of every arm
};

}  // namespace interlacer::sim
