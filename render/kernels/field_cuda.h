#pragma once

/// CUDA forms of the kernels between the samples of rays and a picture: nearest particles, field
/// inputs, dense layers, compositing. Same arrays as the CPU forms, pointers on the current device.
///
/// A stream is an opaque cudaStream_t. Functions return a cudaError_t, 0 being success. Nothing
/// allocates, waits, or runs on the default stream. Determinism: no atomics, every sum has a fixed
/// order: equal calls give equal bits. Neighbours are those of the CPU form, bit by bit.

#include <cstdint>

#include "render/kernels/annular_sums.h"
#include "render/kernels/field_mlp.h"
#include "render/kernels/gather16.h"

namespace interlacer {

/// Writes slots_device [m,16] and sq_dist_device [m,16] of points_device [m,3] as GatherNearestFn
/// does; 1 <= neighbor_count <= 16. Less than 2^28 leaves.
int LaunchGatherNearest(const ParticleTreeView& tree_device, int neighbor_count,
                        const float* points_device, std::int64_t m, std::uint32_t* slots_device,
                        float* sq_dist_device, void* stream);

/// Writes inputs_device [m, input_stride] as AnnularSumsFn does.
int LaunchAnnularSums(const AnnularParameters& parameters, const float* features_device,
                      const std::uint32_t* slots_device, const float* sq_dist_device,
                      std::int64_t m, float* inputs_device, void* stream);

/// y = x w + bias as DenseForwardFn does.
int LaunchDenseForward(const DenseLayer& layer_device, void* stream);

/// Samples of rays, near to far: those of ray r are [first[r], first[r + 1]).
struct CompositeInputs {
  std::int64_t ray_count = 0;
  const std::int32_t* first = nullptr;  ///< [rays + 1]
  const float* t_m = nullptr;           ///< [m]
  const float* delta_m = nullptr;       ///< [m]
  const float* logits = nullptr;        ///< [m, logit_stride]: density, then red, green, blue
  int logit_stride = 16;
  const float* sq_dist_m2 = nullptr;  ///< [m,16]; samples farther than the radius are empty
  float empty_radius_m = 0;
  float far_m = 0;
  float stop_transmittance = 0;
};

/// Front to back on white as render/composite.h has it: rgb_device [rays,3], distance_device
/// [rays], opacity_device [rays].
int LaunchComposite(const CompositeInputs& inputs_device, float* rgb_device, float* distance_device,
                    float* opacity_device, void* stream);

}  // namespace interlacer
