#pragma once

/// Scripted manipulation tasks: the objects on the table and the next goals of the arms.
///
/// A task is asked once for its objects and then, step by step, for the next goal of both tools,
/// knowing where the objects are now. It never sees MuJoCo. Metres, radians, frame of
/// data/sim/robot.h. Deterministic for a given random sequence. Thread-safety: one thread at a time
/// per object.

#include <memory>
#include <string>
#include <vector>

#include "common/random.h"
#include "common/status.h"
#include "data/sim/inverse_kinematics.h"
#include "data/sim/scene.h"
#include "data/sim/task_names.h"

namespace interlacer::sim {

/// A target of every arm.
using ToolTargets = std::vector<ToolTarget>;

class Task {
 public:
  virtual ~Task() = default;

  /// One sentence about what happens.
  virtual std::string Text() const = 0;
  /// Adds the task's objects to the scene; the result is where the tools start.
  virtual ToolTargets Prepare(Scene& scene) = 0;
  /// Right after Prepare: takes the draws of the motion from another sequence. False for a task
  /// whose motion follows from its scene.
  virtual bool Redraw(RandomSequence /*random*/) { return false; }
  /// Goals of the tools one step later. `world_from_object` has all objects of the scene.
  virtual ToolTargets Next(const std::vector<Transform>& world_from_object) = 0;
  /// Whether an episode with these object poses, one entry a step, shows the task.
  virtual bool Succeeded(const std::vector<std::vector<Transform>>& poses_of_step) const = 0;
};

/// Its objects take their colours from `colors`. INVALID_ARGUMENT ARGUMENT_INVALID for a name that
/// is not in TaskNames, and for a task that needs more arms than there are.
StatusOr<std::unique_ptr<Task>> MakeTask(const std::string& name, const RobotSetup& robot,
                                         RandomSequence random, ColorSet colors);

}  // namespace interlacer::sim
