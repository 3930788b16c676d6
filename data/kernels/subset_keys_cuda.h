#pragma once

/// Keys of seeded draws on a CUDA device: the candidates with the smallest keys are drawn, ties to
/// the lower index.
///
/// Pointers are on the current device; a stream is an opaque cudaStream_t. Returns a cudaError_t, 0
/// being success. Nothing allocates, waits, or runs on the default stream.
///   keys_device [n]   the unsigned 64-bit keys less 2^63, so that signed order is theirs; n < 2^32

#include <cstdint>

namespace interlacer {

/// Keys of DrawSubset (data/unproject.h).
int LaunchSubsetKeys(std::uint64_t seed, std::uint32_t time, std::int64_t n,
                     std::int64_t* keys_device, void* stream);

/// Keys by which message passing draws its anchors (model/graph/anchors.h).
int LaunchAnchorKeys(std::uint64_t seed, std::int64_t n, std::int64_t* keys_device, void* stream);

}  // namespace interlacer
