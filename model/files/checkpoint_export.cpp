#include "model/files/checkpoint_export.h"

#include <ATen/core/grad_mode.h>

#include <cmath>
#include <memory>
#include <string>

#include "common/number_text.h"
#include "model/files/checkpoint.h"
#include "model/network/head.h"
#include "model/runtime/torch_errors.h"

namespace interlacer {
namespace {

/// Sigmoids of more are 0 or 1, and float16 ends at 65504.
constexpr double kMostTrust = 100;

/// The same weights, with the settings in them and in the configuration.
StatusOr<std::shared_ptr<WorldModel>> WithGuess(const WorldModel& from,
                                                const GuessSettings& guess) {
  if (!from.config().network.contact_guess) {
    return Mismatch(reason::CONFIG_INVALID, "network.contact_guess", "a model with one", "none");
  }
  if (!(std::abs(guess.more_trust) <= kMostTrust)) {
    return Mismatch(reason::ARGUMENT_INVALID, "more_trust", "a number from -100 to 100",
                    NumberText(guess.more_trust));
  }
  InterlacerConfig config = from.config();
  if (guess.contact_point_count) config.lifting.contact_point_count = *guess.contact_point_count;
  INTERLACER_RETURN_IF_ERROR(ValidateConfig(config));
  auto to = std::make_shared<WorldModel>(config);
  const at::NoGradGuard no_grad;
  auto parameters = to->named_parameters();
  for (const auto& parameter : from.named_parameters()) {
    parameters[parameter.key()].copy_(parameter.value());
  }
  parameters[std::string(kTrustPrefix) + "bias"].add_(guess.more_trust);
  return to;
}

}  // namespace

StatusOr<CheckpointHashes> ExportCheckpoint(const std::string& from_dir, const std::string& to_dir,
                                            const GuessSettings& guess) {
  CheckpointHashes hashes;
  const auto rewrite = [&]() -> Status {
    INTERLACER_ASSIGN_OR_RETURN(Checkpoint checkpoint, LoadCheckpoint(from_dir, {}));
    if (guess.more_trust != 0 || guess.contact_point_count) {
      INTERLACER_ASSIGN_OR_RETURN(checkpoint.model, WithGuess(*checkpoint.model, guess));
    }
    checkpoint.metadata[kExportedFromKey] = checkpoint.weights_sha256;
    INTERLACER_RETURN_IF_ERROR(
        SaveCheckpoint(to_dir, *checkpoint.model, checkpoint.metadata, StoredWeights::kFloat16,
                       checkpoint.robot ? from_dir + "/" + kCheckpointRobotFolder : ""));
    INTERLACER_ASSIGN_OR_RETURN(const Checkpoint written, LoadCheckpoint(to_dir, {}));
    hashes = {checkpoint.weights_sha256, written.weights_sha256};
    return Status::Ok();
  };
  INTERLACER_RETURN_IF_ERROR(CatchTorchErrors(rewrite, "export"));
  return hashes;
}

}  // namespace interlacer
