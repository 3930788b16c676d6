#pragma once

/// The folder of a training run: run.json, inputs.json, metrics.jsonl, checkpoint/ and its
/// optimizer state.
///
/// A checkpoint is written to checkpoint.partial and renamed over the old one, so a run that is
/// killed while writing keeps the last complete one. Errors: OUTPUT_EXISTS, FILE_UNWRITABLE,
/// CHECKPOINT_INVALID. One writer.

#include <cstdint>
#include <string>

#include "model/training/optimizer.h"
#include "model/training/trainer.h"
#include "model/training/weight_average.h"

namespace interlacer {

struct RunPaths {
  std::string dir;
  std::string config() const { return dir + "/run.json"; }
  std::string inputs() const { return dir + "/inputs.json"; }
  std::string log() const { return dir + "/metrics.jsonl"; }
  std::string checkpoint() const { return dir + "/checkpoint"; }
};

/// Makes the folder for a new run (refused when a run is there, unless `overwrite`), or checks that
/// the one to resume has the same configuration and inputs.
Status PrepareRunDirectory(const TrainOptions& options, const RunPaths& paths);

/// Copies parameters between models of one configuration; FAILED_PRECONDITION CHECKPOINT_INVALID
/// when a name or shape differs.
Status CopyWeights(const WorldModel& from, WorldModel* to);
/// Local layers of another kind keep the values that `to` has, whatever their shapes.
Status CopySharedWeights(const WorldModel& from, WorldModel* to);

/// With an `average`, which may be null, the model's weights are the average now.
Status SaveRunState(const RunPaths& paths, const WorldModel& model, const ModelOptimizer& optimizer,
                    const WeightAverage* average, std::int64_t steps_done,
                    const TrainOptions& options);

/// Steps done of the last checkpoint, with weights and optimizer state put in place; 0 and nothing
/// changed when the run has no checkpoint yet.
StatusOr<std::int64_t> LoadRunState(const RunPaths& paths, WorldModel* model,
                                    ModelOptimizer* optimizer, WeightAverage* average);

}  // namespace interlacer
