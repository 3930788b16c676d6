#pragma once

/// Trains a network of attention layers on a set of examples; the torch-free door of this folder.
///
/// Writes into `output_dir`: run.json (network, training, set, seed), metrics.jsonl with a line an
/// epoch, and checkpoint/state.safetensors with the weights, those of the best epoch and the
/// optimiser's state (model/training/run_folder.h). Order of examples and first weights depend on
/// the seed alone, so on one thread a run that was stopped anywhere and resumed ends with the bytes
/// of one that was not. The best epoch is the first of least validation loss; the test split is
/// read once, with its weights, at the end.
/// Errors: those of configuration, examples, mechanisms and run_folder.h; INVALID_ARGUMENT
/// ARGUMENT_INVALID at "SPLIT" for one without examples; DATA_LOSS PREDICTION_NOT_FINITE when the
/// loss is not finite; CANCELLED when stopped (resume goes on after the last checkpoint).
/// One call at a time. Source: gkat, Sec. 5.1.

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/status.h"
#include "model/learning/example_set.h"
#include "model/learning/learning_config.h"

namespace interlacer {

struct LearningScore {
  double loss = 0;  ///< mean cross entropy in nats, or mean squared error
  /// Share of right answers, or mean absolute error.
  double score = 0;
};

struct EpochRecord {
  std::int64_t epoch = 0;  ///< 1 and on
  LearningScore train;     ///< of the batches as they were learnt from
  LearningScore validation;
  double learning_rate = 0;
  double seconds = 0;
};

struct LearningOptions {
  LearningConfig config;
  std::string output_dir;
  std::uint64_t seed = 0;
  /// Goes on with a run that is there, or begins one; else one that is there is refused.
  bool resume = false;
  std::stop_token stop;
  std::function<void(const EpochRecord&)> on_epoch = [](const EpochRecord&) {};
};

struct LearningResult {
  std::int64_t parameter_count = 0;
  std::vector<EpochRecord> epochs;  ///< all, of earlier parts of the run too
  std::int64_t best_epoch = 0;
  LearningScore test;
};

StatusOr<LearningResult> Learn(const ExampleSet& set, const LearningOptions& options);

/// What needs no tokens: the training split's most frequent class (by its shares, of equal ones the
/// first), or its mean; scored on the test split.
StatusOr<LearningScore> ScoreOfTrivialPrediction(const ExampleSet& set);

}  // namespace interlacer
