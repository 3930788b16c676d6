#pragma once

/// Trains a world model end to end from the video loss; the torch-free interface of `interlacer
/// train`.
///
/// Writes into `output_dir`: run.json (the configuration), inputs.json (seed, data, first weights),
/// metrics.jsonl, and checkpoint/ (config, weights, optimizer state, and the robot folder of the
/// first episode that has one) under a temporary name, renamed when complete. A run that was
/// stopped anywhere resumes from the last checkpoint; every draw depends on (seed, step) alone, so
/// on one thread the resumed run equals the uninterrupted one to the bit. Started several times by
/// torchrun or mpirun (model/training/distributed/environment.h), the processes train one model:
/// each computes its share of every batch, rank r the sequences r, r+W, ... of it, so the result is
/// that of one process but for the order of sums. Rank 0 alone writes and validates. Errors: those
/// of data sets and configuration; FAILED_PRECONDITION OUTPUT_EXISTS, FILE_UNWRITABLE (also where
/// another run is at work in the folder), DEVICE_ABSENT; DATA_LOSS PREDICTION_NOT_FINITE when the
/// loss is not finite; CONFIG_INVALID on all processes when they differ in configuration, seed or
/// data; CANCELLED when the observer stops the run (a checkpoint was written); INTERNAL when
/// another process of the run is gone. One call at a time. Source: grf-masking, App. C.3; hd-vpd.

#include <cstdint>
#include <string>

#include "common/status.h"
#include "model/training/run_log.h"
#include "model/training/train_options.h"

namespace interlacer {

class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  /// What a user should look at, before the first step.
  virtual void OnNote(const std::string& /*text*/) {}
  /// Called after every step; returning false stops the run after a checkpoint.
  virtual bool OnStep(const TrainingRecord& record, std::int64_t step_count) = 0;
  virtual void OnValidation(const ValidationRecord& record) = 0;
};

struct TrainSummary {
  std::int64_t steps_done = 0;
  double final_loss = 0;
  std::string checkpoint_dir;
};

StatusOr<TrainSummary> Train(const TrainOptions& options, TrainObserver* observer);

}  // namespace interlacer
