#pragma once

/// The options `--model DIR` and `--server ADDR`, which choose where a verb predicts.

#include <memory>
#include <string>

#include "cli/connection_options.h"
#include "cli/local_backend.h"
#include "client/rollout_backend.h"
#include "common/status.h"

namespace CLI {
class App;
}

namespace interlacer::cli {

struct BackendOptions {
  std::string model_dir;
  std::string server;
  std::string model_name;
  std::string device = "auto";
  std::string wire_images = "raw";
  ConnectionOptions connection{.deadline_s = 600};
  /// With --model: that of verbs that score what was recorded or simulated is kAsRecorded.
  StepChanges changes = StepChanges::kAsServed;
};

void AddBackendOptions(CLI::App* verb, BackendOptions* options);

/// Errors: those of Predictor::Load and of the client; INVALID_ARGUMENT ARGUMENT_INVALID when not
/// exactly one of the two is given.
StatusOr<std::unique_ptr<RolloutBackend>> MakeBackend(const BackendOptions& options);

}  // namespace interlacer::cli
