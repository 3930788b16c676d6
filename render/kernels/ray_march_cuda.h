#pragma once

/// Which samples along rays may lie near a particle, CUDA form of render/occupancy_grid.h and
/// render/ray_march.h.
///
/// Pointers are on the current device; a stream is an opaque cudaStream_t. Functions return a
/// cudaError_t, 0 being success. Nothing allocates, waits, or runs on the default stream.
/// Determinism: samples and their order are functions of the inputs. Lengths in metres.

#include <cstddef>
#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

/// Cells over a box that the caller chooses (the workspace, say); x fastest. Particles outside
/// count at the nearest border cell; a point outside may always be near.
struct OccupancyBox {
  double origin_m[3] = {0, 0, 0};
  double cell_m = 1;
  std::int32_t cells[3] = {1, 1, 1};

  std::int64_t cell_count() const {
    return static_cast<std::int64_t>(cells[0]) * cells[1] * cells[2];
  }
};

/// Cell coordinate on one axis before it is cut to the box.
INTERLACER_HOST_DEVICE inline double OccupancyCoordinate(const OccupancyBox& box, int axis,
                                                         float x) {
  return (static_cast<double>(x) - box.origin_m[axis]) / box.cell_m;
}

std::size_t OccupancyWorkspaceBytes(const OccupancyBox& box);

/// Writes occupied [cells]: 0 proves that no particle lies within radius_m of any point of the cell
/// (inside the box), 1 proves nothing. positions [n,3], finite.
int LaunchOccupancy(const OccupancyBox& box, const float* positions_m, std::int64_t n,
                    float radius_m, void* workspace, std::uint8_t* occupied, void* stream);

struct MarchInputs {
  std::int64_t ray_count = 0;
  int samples_per_ray = 0;
  float near_m = 0;
  float far_m = 0;
  const float* origins_m = nullptr;   ///< [rays,3]
  const float* directions = nullptr;  ///< [rays,3], unit
  const float* jitter = nullptr;      ///< [rays,samples] in [0,1), or null: 1/2
  OccupancyBox box;
  const std::uint8_t* occupied = nullptr;  ///< null: every sample is live
};

/// Live samples ray by ray, near to far; arrays have room for rays * samples.
struct MarchedSamples {
  std::int32_t* first = nullptr;  ///< [rays + 1]; their number is first[rays]
  float* points_m = nullptr;      ///< [samples,3]
  float* t_m = nullptr;
  float* delta_m = nullptr;  ///< distance to the next sample of the ray, live or not
};

std::size_t MarchWorkspaceBytes(std::int64_t ray_count);

/// More than 2^31 - 1 samples are refused with cudaErrorInvalidValue.
int LaunchMarchRays(const MarchInputs& inputs, void* workspace, const MarchedSamples& samples,
                    void* stream);

}  // namespace interlacer
