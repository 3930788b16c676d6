#pragma once

/// A cloud indexed on the device: the 16-wide tree of boxes of gather16.h over particles in Hilbert
/// order, their features beside them, and a grid of cells that may be near a particle.
///
/// Nothing allocates, waits, or runs on the default stream; the number of launches depends on n
/// alone. Determinism: the index is a function of the cloud. A particle that is not finite is
/// indexed but near nothing. Lengths in metres. Contract: common/kernels/cuda.h.

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"
#include "common/kernels/host_device.h"
#include "render/kernels/gather16.h"

namespace interlacer {

/// Cells over all particles and their surroundings, x fastest; none for an empty cloud.
struct OccupancyBox {
  double origin_m[3];
  double cell_m;
  std::int32_t cells[3];
  float low_m[3];        ///< corner of the cube that holds all particles
  float cells_per_m;     ///< of the curve through that cube
  std::int32_t padding;  ///< so that the size is a multiple of 8 bytes

  INTERLACER_HOST_DEVICE std::int64_t cell_count() const {
    return static_cast<std::int64_t>(cells[0]) * cells[1] * cells[2];
  }
};

/// The cell of a point, -1 outside the box.
INTERLACER_HOST_DEVICE inline std::int64_t OccupancyCell(const OccupancyBox& box,
                                                         const float* point_m) {
  std::int64_t cell = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const double x = (static_cast<double>(point_m[axis]) - box.origin_m[axis]) / box.cell_m;
    if (!(x >= 0 && x < box.cells[axis])) return -1;
    cell = cell * box.cells[axis] + static_cast<std::int32_t>(x);
  }
  return cell;
}

/// Most cells of a box; they are an eighth of the radius wide unless that needs more.
inline constexpr std::int64_t kMaxOccupancyCells = std::int64_t{1} << 21;
/// Slots of more particles would not fit the search's 28-bit places.
inline constexpr std::int64_t kMaxIndexedParticles = std::int64_t{1} << 24;

/// The arrays of an index in one block of memory.
struct CloudIndex {
  ParticleTreeView tree;
  std::uint32_t* original_index = nullptr;  ///< [leaves * 16], as in `tree`
  std::uint32_t* slot_of_index = nullptr;
  float* leaf_xyz = nullptr;
  float* level_boxes[kMaxTreeLevels] = {};
  float* features = nullptr;  ///< [n, feature_width] in slot order
  OccupancyBox* box = nullptr;
  std::uint8_t* occupied = nullptr;  ///< [kMaxOccupancyCells]; 0 proves that no particle is near
  std::size_t size_bytes = 0;
};

/// Where the arrays lie in `memory`; a null pointer only measures.
CloudIndex LayOutCloudIndex(void* memory, std::int64_t n, int feature_width);

std::size_t CloudIndexWorkspaceBytes(std::int64_t n);

/// Fills the index of `n` particles: positions [n,3], features [n, feature_width]. A clear cell has
/// no particle within radius_m of any of its points.
CudaError LaunchCloudIndex(const CloudIndex& index, const float* positions_m, const float* features,
                           std::int64_t n, int feature_width, float radius_m, void* workspace,
                           CudaStream stream);

}  // namespace interlacer
