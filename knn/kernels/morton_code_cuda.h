#pragma once

/// Morton codes of a cloud on a CUDA device: the keys whose stable sort is MortonOrder of
/// knn/spatial_order.h, bit by bit.
///
/// Pointers are on the current device; a stream is an opaque cudaStream_t. Returns a cudaError_t, 0
/// being success. Nothing allocates, waits, or runs on the default stream.

#include <cstdint>

namespace interlacer {

/// codes_device [n] from positions_device [n,3], finite, and their smallest coordinates
/// low_device [3]; 0 < cell_edge_m.
int LaunchMortonCodes(const float* positions_device, std::int64_t n, const float* low_device,
                      double cell_edge_m, std::int64_t* codes_device, void* stream);

}  // namespace interlacer
