#pragma once

/// The cases of the whole model on a CUDA device. Besides the C++ peers there are torch,
/// torch.compile and PyTorch Geometric in a Python process. Threads: one at a time.

#include <vector>

#include "bench/stages/step.h"
#include "bench/stages/train_step.h"

namespace interlacer::bench {

/// Throws StageAbsent if there is a device that LibTorch cannot use.
std::vector<Case> MakeDeviceStepCases(const Options& options);
std::vector<Case> MakeDeviceTrainStepCases(const Options& options);
std::vector<Case> MakeDeviceUpdateCases(const Options& options);

/// Adds the cases of Python peers; those that cannot run are skipped with their reason.
void AddStepPeers(const Options& options, StepStage* stage);
void AddTrainPeers(const Options& options, TrainStage* stage);

}  // namespace interlacer::bench
