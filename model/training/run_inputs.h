#pragma once

/// The inputs of a training run besides its configuration: seed, data, first weights. They are
/// stored as inputs.json beside run.json, and a run is resumed only with the same inputs.
///
/// Data sets are identified by the manifests of their episodes, not by their paths. Errors: those
/// of data sets, files and common/json.h; FAILED_PRECONDITION CONFIG_INVALID naming the input that
/// differs. Pure functions over files.

#include <string>

#include "common/status.h"
#include "model/training/train_options.h"

namespace interlacer {

/// Keys of inputs.json: SHA-256 of the weights that a run began with, and of those from which it
/// took encoder and radiance field alone.
inline constexpr char kInitialWeightsKey[] = "initial_weights_sha256";
inline constexpr char kInitialAppearanceKey[] = "initial_appearance_sha256";

Status WriteRunInputs(const TrainOptions& options, const std::string& path);

/// Accepts a missing file at `path`: runs of earlier versions have none. The first weights and
/// whether their heads are reset need not be given again for a run with a saved state
/// (`has_state`); if given, they must be the same.
Status CheckRunInputs(const TrainOptions& options, const std::string& path, bool has_state);

}  // namespace interlacer
