#pragma once

/// Names of the tasks that can be simulated; none without MuJoCo. Thread-safe.

#include <string>
#include <vector>

namespace interlacer::sim {

const std::vector<std::string>& TaskNames();
/// Those of a mixed data set: all but grasp_can, whose episodes go beside it.
const std::vector<std::string>& MixOfTasks();
/// How many arms a task needs.
int ArmsOfTask(const std::string& name);

}  // namespace interlacer::sim
