#pragma once

/// Launches that measure the peak rates of a CUDA device.
///
/// Contract: common/kernels/cuda.h.

#include <cstdint>

#include "common/kernels/cuda.h"

namespace interlacer::bench {

/// to = from; `bytes` must be a multiple of 16.
CudaError LaunchCopy(const void* from, void* to, std::int64_t bytes, CudaStream stream);

/// Reads `bytes` (a multiple of 16) `passes` times, each block starting at another address; writes
/// a sum to `sums`, [kReadBlocks] floats.
inline constexpr int kReadBlocks = 2048;
CudaError LaunchRead(const void* from, std::int64_t bytes, int passes, float* sums,
                     CudaStream stream);

/// Launches an empty kernel, with one block per multiprocessor.
CudaError LaunchEmpty(int blocks, CudaStream stream);

}  // namespace interlacer::bench
