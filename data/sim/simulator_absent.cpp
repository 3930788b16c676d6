#include "data/sim/push_trial.h"
#include "data/sim/simulator.h"

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

int ArmsOfTask(const std::string&) { return 1; }

StatusOr<SimulatedEpisode> SimulateEpisode(const SimulateOptions&) { return NotBuilt(); }

StatusOr<std::unique_ptr<PushTrial>> MakePushTrial(const SimulateOptions&) { return NotBuilt(); }

}  // namespace interlacer::sim
