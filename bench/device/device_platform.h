#pragma once

/// A CUDA device: the stages that our kernels make up without LibTorch, captured in CUDA graphs.
///
/// Where the build or the machine has none, cases can still be named but not run. Thread-safety:
/// one at a time.

#include <vector>

#include "bench/platform.h"

namespace interlacer::bench {

Platform DevicePlatform();

/// Why nothing can run on a CUDA device here; empty where it can.
std::string DeviceAbsence();

// One file each in bench/device/stages.
std::vector<Case> MakeDeviceKnnCases(const Options& options);
std::vector<Case> MakeDeviceWalkCases(const Options& options);
std::vector<Case> MakeDeviceGrfAttentionCases(const Options& options);
std::vector<Case> MakeDeviceLinearAttentionCases(const Options& options);
/// `linear_attention` in bfloat16.
std::vector<Case> MakeDeviceLinearLayerCases(const Options& options);
std::vector<Case> MakeDeviceRenderCases(const Options& options);

}  // namespace interlacer::bench
