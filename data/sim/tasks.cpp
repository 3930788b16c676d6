#include "data/sim/tasks.h"

#include "data/sim/push_block.h"

namespace interlacer::sim {

const std::vector<std::string>& TaskNames() {
  static const std::vector<std::string> names = {"push_block"};
  return names;
}

StatusOr<std::unique_ptr<Task>> MakeTask(const std::string& name, RandomSequence random) {
  if (name == "push_block") return std::unique_ptr<Task>(std::make_unique<PushBlock>(random));
  std::string known;
  for (const std::string& task : TaskNames()) known += (known.empty() ? "" : ", ") + task;
  return Mismatch(reason::ARGUMENT_INVALID, "task", "one of " + known, "'" + name + "'");
}

}  // namespace interlacer::sim
