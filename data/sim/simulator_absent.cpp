#include "data/sim/simulator.h"
#include "data/sim/trial.h"

namespace interlacer::sim {
namespace {

Status NotBuilt() {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       "simulation needs MuJoCo: configure with INTERLACER_WITH_MUJOCO=ON");
}

}  // namespace

std::filesystem::path DefaultAssetFolder() { return {}; }

const std::vector<std::string>& TaskNames() {
  static const std::vector<std::string> names;
  return names;
}

const std::vector<std::string>& MixOfTasks() { return TaskNames(); }

int ArmsOfTask(const std::string&) { return 1; }

StatusOr<SimulatedEpisode> SimulateEpisode(const SimulateOptions&) { return NotBuilt(); }

StatusOr<std::unique_ptr<Trial>> MakeTrial(const SimulateOptions&) { return NotBuilt(); }

}  // namespace interlacer::sim
