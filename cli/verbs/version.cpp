#include "common/version.h"

#include <CLI/CLI.hpp>

#include "cli/verbs/verbs.h"
#include "common/json.h"

namespace interlacer::cli {
namespace {

nlohmann::ordered_json BuiltParts() {
  return {{"torch", INTERLACER_WITH_TORCH == 1},   {"cuda", INTERLACER_WITH_CUDA == 1},
          {"faiss", INTERLACER_WITH_FAISS == 1},   {"open3d", INTERLACER_WITH_OPEN3D == 1},
          {"mujoco", INTERLACER_WITH_MUJOCO == 1}, {"urdf", INTERLACER_WITH_URDF == 1},
          {"hdf5", INTERLACER_WITH_HDF5 == 1},     {"arrow", INTERLACER_WITH_ARROW == 1}};
}

StatusOr<ExitCode> PrintVersion(const VerbContext& context) {
  const nlohmann::ordered_json parts = BuiltParts();
  std::string text = std::string("interlacer ") + kVersion + "\nbuilt with:";
  for (const auto& [name, is_built] : parts.items()) {
    if (is_built.get<bool>()) text += " " + name;
  }
  context.Result({{"version", kVersion}, {"parts", parts}}, text + "\n");
  return kExitDone;
}

}  // namespace

void AddVersion(CLI::App* app, VerbTable* verbs) {
  verbs->Add(app->add_subcommand("version", "Version and parts of this build"), PrintVersion);
}

}  // namespace interlacer::cli
