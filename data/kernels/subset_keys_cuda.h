#pragma once

/// Keys of the seeded draw (DrawSubset of data/unproject.h) on a CUDA device: the candidates with
/// the smallest keys are drawn, ties to the lower index.
///
/// Pointers are on the current device; a stream is an opaque cudaStream_t. Returns a cudaError_t, 0
/// being success. Nothing allocates, waits, or runs on the default stream.

#include <cstdint>

namespace interlacer {

/// keys_device [n]: the unsigned 64-bit keys less 2^63, so that signed order is theirs; n < 2^32.
int LaunchSubsetKeys(std::uint64_t seed, std::uint32_t time, std::int64_t n,
                     std::int64_t* keys_device, void* stream);

}  // namespace interlacer
