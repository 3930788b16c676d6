#pragma once

/// A scene of one object that waits for decisions: motions are proposed, tried, and one is
/// executed.
///
/// push_block: a block to be pushed to a place on the table. lift_can: a can to be lifted and
/// brought to a place above it. The scene of a seed is the first that data/sim/simulator.h draws
/// and in which the first pose can be reached; its motion is the caller's. Trying a motion
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

class Trial {
 public:
  virtual ~Trial() = default;

  /// Middle of the object, and the distance from it to its corners.
  virtual Vec3d ObjectM() const = 0;
  virtual double ObjectRadiusM() const = 0;
  /// Whether a point near the object, seen at the newest step, is taken for one of it: what a hand
  /// around a can shows is not.
  virtual bool IsOfObject(const Vec3d& point_m) const = 0;
  /// Whether some arm can bring the object there.
  virtual bool CanBring(const Vec3d& goal_m) const = 0;

  /// Arms that keep still.
  virtual TrialMotion Stay(int step_count) const = 0;
  /// Motions as the task's script draws them. A push knows where the block is. A grasp knows where
  /// the cameras show the can, goes to within 5 cm of there and may miss; with fingers closed half
  /// the motions carry on instead. Motions that an arm cannot make are drawn again; fewer than
  /// `count` where hardly any can be made.
  virtual std::vector<TrialMotion> Propose(int count, int step_count, std::uint64_t seed) const = 0;
  /// The motion of a script that knows the goal and not the object: a push, or a grasp, at the
  /// middle of the table.
  virtual StatusOr<TrialMotion> Blind(const Vec3d& goal_m, int step_count) const = 0;

  /// The last two steps as cameras and joints show them, for a model.
  virtual SceneInput Observe() const = 0;
  /// Where the object would be after the motion; nothing is executed.
  virtual Vec3d Try(const TrialMotion& motion) = 0;
  virtual void Execute(const TrialMotion& motion) = 0;
  /// True once an executed motion brought an arm to the table or to another arm.
  virtual bool ArmCollided() const = 0;
};

/// Of options.task, one of the two; split, seed, robot and sizes count. INVALID_ARGUMENT
/// ARGUMENT_INVALID for another.
StatusOr<std::unique_ptr<Trial>> MakeTrial(const SimulateOptions& options);

}  // namespace interlacer::sim
