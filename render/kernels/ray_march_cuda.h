#pragma once

/// Finds the samples along rays that may lie near a particle; CUDA form of render/ray_march.h.
///
/// Determinism: samples and their order are functions of the inputs. Lengths in metres. Contract:
/// common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "render/kernels/cloud_index_cuda.h"

namespace interlacer {

struct MarchInputs {
  std::int64_t ray_count = 0;
  int samples_per_ray = 0;
  float near_m = 0;
  float far_m = 0;
  const float* origins_m = nullptr;        ///< [rays,3]
  const float* directions = nullptr;       ///< [rays,3], unit
  const float* jitter = nullptr;           ///< [rays,samples] in [0,1), or null: 1/2
  const OccupancyBox* box = nullptr;       ///< null: every sample is live
  const std::uint8_t* occupied = nullptr;  ///< [cells]; a point outside the box is not live
};

/// Live samples ray by ray, near to far; arrays have room for rays * samples.
struct MarchedSamples {
  std::int32_t* first = nullptr;  ///< [rays + 1]; their number is first[rays]
  float* points_m = nullptr;      ///< [samples,3]
  float* t_m = nullptr;
  float* delta_m = nullptr;  ///< distance to the next sample of the ray, live or not
};

std::size_t MarchWorkspaceBytes(std::int64_t ray_count, int samples_per_ray);

/// The workspace is on a boundary of 256 bytes. More than 2^31 - 1 samples are refused with
/// cudaErrorInvalidValue.
CudaError LaunchMarchRays(const MarchInputs& inputs, void* workspace, const MarchedSamples& samples,
                          CudaStream stream);

}  // namespace interlacer
