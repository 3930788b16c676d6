#pragma once

/// Reads and writes what the folder of a world model's training run holds (run_folder.h): its
/// configuration, inputs.json, the checkpoint and its optimiser state.
///
/// Errors: OUTPUT_EXISTS, FILE_UNWRITABLE, CHECKPOINT_INVALID, those of run_inputs.h. One writer.

#include <cstdint>
#include <string>

#include "model/files/checkpoint.h"
#include "model/training/optimizer.h"
#include "model/training/run_folder.h"
#include "model/training/train_options.h"
#include "model/training/weight_ema.h"

namespace interlacer {

/// Creates the folder for a new run (refused when it holds a run, unless `overwrite`), or checks
/// that the run to resume has the same configuration and inputs.
Status PrepareRunDirectory(const TrainOptions& options, const RunPaths& paths);

/// CONFIG_INVALID for a model that could be trained and saved, and its state not read again.
Status CheckStateFits(std::int64_t parameter_count, bool has_average);

/// Copies parameters between models of one configuration; FAILED_PRECONDITION CHECKPOINT_INVALID
/// when a name or shape differs.
Status CopyWeights(const WorldModel& from, WorldModel* to);
/// Copies all parameters except those of local layers of another kind, and the trust in a guess
/// that `from` has not: these keep the values of `to`, whatever their shapes. CONFIG_INVALID where
/// `from` alone has a contact_guess: its network leaves to the guess what it does not say; or where
/// its guess alone sees points of its own: what it trusts is better than what particles show.
Status CopySharedWeights(const WorldModel& from, WorldModel* to);

/// Encoder and radiance field: what gives particles their features and shows them.
bool IsAppearance(const std::string& parameter_name);
/// Copies these alone; the rest of the models may differ.
Status CopyAppearance(const WorldModel& from, WorldModel* to);

/// With an `average`, which may be null, the model must hold the average (WeightEma::Swap). A
/// robot folder is copied into the checkpoint, unless the path is empty.
Status SaveRunState(const RunPaths& paths, const WorldModel& model, const ModelOptimizer& optimizer,
                    const WeightEma* average, std::int64_t steps_done, const TrainOptions& options,
                    const std::string& robot_folder);

/// Restores weights and optimiser state of the last checkpoint and returns its number of steps;
/// returns 0 and changes nothing when the run has no checkpoint yet.
StatusOr<std::int64_t> LoadRunState(const RunPaths& paths, WorldModel* model,
                                    ModelOptimizer* optimizer, WeightEma* average);

}  // namespace interlacer
