#pragma once

/// A push_block scene that waits for decisions: motions are proposed, tried, and one is executed.
///
/// The scene of a seed is the first that data/sim/simulator.h draws and in which the first pose can
/// be reached; its motion is the caller's. Trying a motion
/// leaves the scene as it is, so that a planner may ask what would truly happen; executing moves
/// on. Between decisions everything is at rest. Units, frame, determinism, errors:
/// data/sim/simulator.h; OUT_OF_RANGE ACTION_OUT_OF_RANGE for motions that an arm cannot make.
/// Threads: one thread per object, the one that created it.

#include <cstdint>
#include <memory>
#include <vector>

#include "common/geometry.h"
#include "common/scene.h"
#include "data/sim/inverse_kinematics.h"
#include "data/sim/simulator.h"

namespace interlacer::sim {

/// Commanded rows, one a step, and where the tools are at their end.
struct TrialMotion {
  std::vector<ArmStates> rows;
  std::vector<ToolTarget> tools;
};

class PushTrial {
 public:
  virtual ~PushTrial() = default;

  /// Centre of the block, and the distance from it to its corners.
  virtual Vec3d BlockM() const = 0;
  virtual double BlockRadiusM() const = 0;

  /// Arms that keep still.
  virtual TrialMotion Stay(int step_count) const = 0;
  /// Pushes as the task's script draws them, which knows where the block is; motions that an arm
  /// cannot make are drawn again. Fewer than `count` where hardly any can be made.
  virtual std::vector<TrialMotion> Propose(int count, int step_count, std::uint64_t seed) const = 0;
  /// A push of a script that knows the goal and not the block: down behind the middle of the table
  /// and straight to half a block before the goal.
  virtual StatusOr<TrialMotion> BlindPush(const Vec3d& goal_m, int step_count) const = 0;

  /// The last two steps as cameras and joints show them, for a model.
  virtual SceneInput Observe() const = 0;
  /// Where the block would be after the motion; nothing is executed.
  virtual Vec3d Try(const TrialMotion& motion) = 0;
  virtual void Execute(const TrialMotion& motion) = 0;
  /// True once an executed motion brought an arm to the table or to another arm.
  virtual bool ArmCollided() const = 0;
};

/// Of options.task, push_block; split, seed, robot and sizes count.
StatusOr<std::unique_ptr<PushTrial>> MakePushTrial(const SimulateOptions& options);

}  // namespace interlacer::sim
