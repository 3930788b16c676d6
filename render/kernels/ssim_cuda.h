#pragma once

/// CUDA form of the SSIM map (render/kernels/ssim_rows.h) with the mean over it: ssim_wang_rgb_v1
/// in double precision, equal to the CPU form up to the order of sums.
///
/// Images in SsimInputs are on the current device; a stream is an opaque cudaStream_t. Returns a
/// cudaError_t, 0 being success. Nothing allocates, waits, or runs on the default stream.
/// Determinism: no atomics, every sum has a fixed order: equal calls give equal bits.

#include <cstdint>

#include "render/kernels/ssim_rows.h"

namespace interlacer {

/// Number of double that LaunchSsim needs as scratch memory.
std::int64_t SsimCudaScratchCount(int width_px, int height_px);

/// Writes map_device [height_px - 10, width_px - 10], or nothing if it is null, and mean_device
/// [1]. A side below 11 px is refused with cudaErrorInvalidValue.
int LaunchSsim(const SsimInputs& inputs_device, int height_px, double* map_device,
               double* mean_device, double* scratch_device, void* stream);

}  // namespace interlacer
