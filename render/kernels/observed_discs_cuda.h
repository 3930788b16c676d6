#pragma once

/// Draws carried pixels on the device: CUDA form of ObservedRenderer::Render
/// (render/observed_renderer.h), equal to it byte by byte but for the payload of NaN.
///
/// Pointers, those within the view and the surfels too, are on the current device. Determinism:
/// sums are of integers, so that the order of atomics leaves no trace. Numbers of surfels
/// (SurfelNeighbors) must lie in [0, count). Lengths in metres. Contract: common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "render/kernels/observed_disc.h"

namespace interlacer {

struct ObservedPictureDevice {
  float* color = nullptr;     ///< [h,w,3] in [0,1]
  float* depth_m = nullptr;   ///< [h,w], NaN where nothing lands or was measured
  float* coverage = nullptr;  ///< [h,w] in [0,1]
};

std::size_t ObservedWorkspaceBytes(std::int64_t surfel_count, int width_px, int height_px);

CudaError LaunchObservedDiscs(const DiscView& view, const SurfelArrays& surfels,
                              void* workspace_device, const ObservedPictureDevice& picture,
                              CudaStream stream);

}  // namespace interlacer
