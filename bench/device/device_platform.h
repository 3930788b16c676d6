#pragma once

/// The platform of a CUDA device: stages that consist of our kernels alone, without LibTorch,
/// captured in CUDA graphs.
///
/// Without CUDA in the build or the machine cases can still be named, but not run. Thread-safety:
/// one at a time.

#include <vector>

#include "bench/platform.h"

namespace interlacer::bench {

Platform DevicePlatform();

/// Why nothing can run on a CUDA device here; empty if it can. In a library of its own: programs
/// with emulated kernels say another reason.
std::string DeviceAbsence();

/// Of builds with CUDA.
void AddDeviceStages(Platform* platform);

// Each is defined in a file of bench/device/stages.
std::vector<Case> MakeDeviceKnnCases(const Options& options);
std::vector<Case> MakeDeviceWalkCases(const Options& options);
std::vector<Case> MakeDeviceGrfAttentionCases(const Options& options);
std::vector<Case> MakeDeviceLinearAttentionCases(const Options& options);
/// The cases of `linear_attention` in bfloat16.
std::vector<Case> MakeDeviceLinearLayerCases(const Options& options);
std::vector<Case> MakeDeviceRenderCases(const Options& options);

}  // namespace interlacer::bench
