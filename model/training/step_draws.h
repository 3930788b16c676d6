#pragma once

/// What a step of a run draws and asks of the loss, by configuration, seed and number alone: which
/// sequence, how it is augmented, with which weights.
///
/// Threads: pure functions.

#include <cstdint>

#include "model/training/sample.h"
#include "model/training/sample_source.h"
#include "model/training/sequence_loss.h"
#include "model/training/training_config.h"

namespace interlacer {

/// Of a sequence of the batch at `step`, which counts from 0.
SampleRequest RequestAt(const RunConfig& config, std::uint64_t seed, std::int64_t step,
                        int sequence);
/// Turns a sequence by an angle of its own and gives it colours of its own, where the configuration
/// asks for it. `index` counts the sequences of a run.
void Augment(const TrainingConfig& training, std::uint64_t seed, std::int64_t index,
             TrainingSample* sample);
SequenceLossOptions LossOptionsAt(const TrainingConfig& training, std::uint64_t seed,
                                  std::int64_t step, std::int64_t index);

/// The same of a sequence to validate with: each time equal, of the whole number of particles, and
/// without what augments the loss.
SampleRequest ValidationRequestAt(const RunConfig& config, std::int64_t step, int index);
SequenceLossOptions ValidationLossOptionsAt(const TrainingConfig& training, std::int64_t step,
                                            int index);

}  // namespace interlacer
