#pragma once

/// Launches that measure the peak rates of a CUDA device.
///
/// Pointers are on the current device; a stream is an opaque cudaStream_t. Functions return a
/// cudaError_t, 0 being success. Nothing allocates, waits, or runs on the default stream.

#include <cstdint>

namespace interlacer::bench {

/// to = from; `bytes` must be a multiple of 16.
int LaunchCopy(const void* from, void* to, std::int64_t bytes, void* stream);

/// Reads `bytes` (a multiple of 16) `passes` times, each block starting at another address; writes
/// a sum to `sums`, [kReadBlocks] floats.
inline constexpr int kReadBlocks = 2048;
int LaunchRead(const void* from, std::int64_t bytes, int passes, float* sums, void* stream);

/// Launches an empty kernel, with one block per multiprocessor.
int LaunchEmpty(int blocks, void* stream);

}  // namespace interlacer::bench
