#include "data/sim/tasks.h"

#include "data/sim/grasp_can.h"
#include "data/sim/move_can.h"
#include "data/sim/push_block.h"
#include "data/sim/sweep.h"

namespace interlacer::sim {

const std::vector<std::string>& TaskNames() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> all = MixOfTasks();
    all.emplace_back("grasp_can");
    return all;
  }();
  return names;
}

const std::vector<std::string>& MixOfTasks() {
  static const std::vector<std::string> names = {"push_block", "lift_can", "drop_can", "sweep"};
  return names;
}

int ArmsOfTask(const std::string& name) { return name == "sweep" ? 2 : 1; }

StatusOr<std::unique_ptr<Task>> MakeTask(const std::string& name, const RobotSetup& robot,
                                         RandomSequence random, ColorSet colors) {
  if (robot.arm_count < ArmsOfTask(name)) {
    return Mismatch(reason::ARGUMENT_INVALID, "arms",
                    std::to_string(ArmsOfTask(name)) + " with the task " + name,
                    std::to_string(robot.arm_count));
  }
  std::unique_ptr<Task> task;
  if (name == "push_block") task = std::make_unique<PushBlock>(robot, random, colors);
  if (name == "lift_can")
    task = std::make_unique<MoveCan>(robot, random, colors, CanEnding::kSetDown);
  if (name == "drop_can") task = std::make_unique<MoveCan>(robot, random, colors, CanEnding::kDrop);
  if (name == "grasp_can") task = std::make_unique<GraspCan>(robot, random, colors);
  if (name == "sweep") task = std::make_unique<Sweep>(robot, random, colors);
  if (task != nullptr) return task;
  std::string known;
  for (const std::string& each : TaskNames()) known += (known.empty() ? "" : ", ") + each;
  return Mismatch(reason::ARGUMENT_INVALID, "task", "one of " + known, "'" + name + "'");
}

}  // namespace interlacer::sim
