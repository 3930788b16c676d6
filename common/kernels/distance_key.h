#pragma once

/// Packs the squared distance and index of a neighbour into one sortable integer. Only .cu files
/// include it.

#include <cuda_runtime.h>

#include <cstdint>

namespace interlacer {

/// Sorts as (squared distance, index); distances are not negative.
__device__ inline std::uint64_t SortKey(float sq_dist, std::uint32_t index) {
  return static_cast<std::uint64_t>(__float_as_uint(sq_dist)) << 32 | index;
}
__device__ inline float KeySqDist(std::uint64_t key) {
  return __uint_as_float(static_cast<unsigned>(key >> 32));
}

}  // namespace interlacer
