#pragma once

/// What a training run began with beside its configuration: seed, data, first weights, kept as
/// inputs.json beside run.json, so that a run is resumed with the same ones or not at all.
///
/// Data are known by the manifests of their episodes, not by where they lie. Errors: those of data
/// sets, files and common/json.h; FAILED_PRECONDITION CONFIG_INVALID naming the input that differs.
/// Pure functions over files.

#include <string>

#include "common/status.h"
#include "model/training/trainer.h"

namespace interlacer {

Status WriteRunInputs(const TrainOptions& options, const std::string& path);

/// Passes when there is no file at `path`: runs of earlier versions have none. First weights and
/// whether their heads are reset need not be named again for a run that has saved its own
/// (`has_state`); where they are named they must be the same.
Status CheckRunInputs(const TrainOptions& options, const std::string& path, bool has_state);

}  // namespace interlacer
