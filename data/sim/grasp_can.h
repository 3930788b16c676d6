#pragma once

/// The task grasp_can: an arm grasps at a can, again and again, and often misses it.
///
/// Grasps go to within kMissM of the can's middle (data/sim/can.h), so that some hold and lift it,
/// some push it or throw it over, and some close on nothing; the next one goes to where it then is.
/// A closed hand may carry on in the place of a grasp, and a can in it falls when it opens. One
/// can in four lies from the beginning. One arm moves at a time; the other keeps still, and may
/// still hold the can.

#include "data/sim/can.h"
#include "data/sim/tasks.h"

namespace interlacer::sim {

class GraspCan final : public Task {
 public:
  GraspCan(const RobotSetup& robot, RandomSequence random, ColorSet colors);

  std::string Text() const override { return "grasp near the " + color_name_ + " can"; }
  ToolTargets Prepare(Scene& scene) override;
  bool Redraw(RandomSequence random) override;
  ToolTargets Next(const std::vector<Transform>& world_from_object) override;
  /// An arm moved, and the can stayed within the table.
  bool Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const override;

 private:
  RobotSetup robot_;
  RandomSequence random_;
  ColorSet colors_;
  CanSize can_;
  std::string color_name_;
  ToolTargets tool_;
  ArmPath motion_;  ///< of the arm that works
  bool has_moved_ = false;
};

}  // namespace interlacer::sim
