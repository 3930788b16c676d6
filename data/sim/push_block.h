#pragma once

/// The task push_block: the arms take turns at pushing a block about the middle of the table.
///
/// The arm at work goes behind the block, down, pushes it with both finger tips along the normal of
/// one of its faces (give or take), backs off and rises; then an arm is chosen again. Meanwhile the
/// other arm moves about above its own end of the table. Colours are mostly
/// green.

#include "data/sim/tasks.h"
#include "data/sim/tool_path.h"

namespace interlacer::sim {

/// Tool point of a push, and on its way to one; distance of each finger from the closed position.
inline constexpr double kPushHeightM = 0.018, kLiftedHeightM = 0.15, kPushOpeningM = 0.018;

class PushBlock final : public Task {
 public:
  PushBlock(const RobotSetup& robot, RandomSequence random, ColorSet colors);

  std::string Text() const override;
  ToolTargets Prepare(Scene& scene) override;
  bool Redraw(RandomSequence random) override;
  ToolTargets Next(const std::vector<Transform>& world_from_object) override;
  /// Drops what the arms are about; a push is drawn next, with the tools where they are now.
  void Interrupt(const ToolTargets& tools);
  const ToolTargets& tools() const { return tool_; }
  bool Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const override;

 private:
  struct Push {
    int arm;
    Vec3d contact_m;   ///< tool point when the fingers meet the block
    Vec3d end_m;       ///< tool point at the end of the push
    double angle_rad;  ///< direction of the push
  };

  /// A push that keeps block and arm within bounds; false if none was found.
  bool DrawPush(const Transform& world_from_block, Push& push);
  void PlanPush(const Push& push);

  RobotSetup robot_;
  RandomSequence random_;
  ColorSet colors_;
  double speed_m_;  ///< per step
  Vec3d half_size_m_{};
  std::string color_name_;
  int pushing_arm_ = -1;
  ToolTargets tool_;
  std::vector<ToolPath> path_;  ///< of every arm
};

}  // namespace interlacer::sim
