#pragma once

/// The inputs of a training run besides its configuration: seed, data, first weights. They are
/// stored as inputs.json beside run.json, and a run is resumed only with the same inputs.
///
/// Data sets are identified by the manifests of their episodes, not by their paths. Errors: those
/// of data sets, files and common/json.h; INVALID_ARGUMENT CONFIG_INVALID naming the input that
/// differs. Pure functions over files.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "common/status.h"
#include "model/training/train_options.h"

namespace interlacer {

/// Keys of inputs.json: SHA-256 of the weights that a run began with, and of those from which it
/// took encoder and radiance field alone.
inline constexpr char kInitialWeightsKey[] = "initial_weights_sha256";
inline constexpr char kInitialAppearanceKey[] = "initial_appearance_sha256";

/// What inputs.json of a new run with these options holds.
StatusOr<nlohmann::ordered_json> RunInputs(const TrainOptions& options);

/// Of these, as text, what all processes of a run have in common: seed and data, without paths.
StatusOr<std::string> CommonInputs(const TrainOptions& options);

/// Checks that a run whose inputs.json is at `path` may go on with `inputs`. Accepts a missing file
/// at `path`: runs of earlier versions have none. The first weights and whether their heads are
/// reset need not be given again for a run with a saved state
/// (`has_state`); if given, they must be the same.
Status CheckRunInputs(const nlohmann::ordered_json& inputs, const std::string& path,
                      bool has_state);

}  // namespace interlacer
