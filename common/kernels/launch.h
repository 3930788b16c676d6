#pragma once

/// Small helpers of CUDA files: error checks and grid sizes. Includes the CUDA runtime; only .cu
/// files include it.

#include <cuda_runtime.h>

#include <cstdint>

/// Returns the cudaError_t of a failed call from a function that returns int.
#define INTERLACER_CUDA_RETURN_IF_ERROR(call)                                 \
  do {                                                                        \
    if (const cudaError_t cuda_error_ = (call); cuda_error_ != cudaSuccess) { \
      return static_cast<int>(cuda_error_);                                   \
    }                                                                         \
  } while (false)

namespace interlacer {

/// Blocks that give every one of `count` items a thread.
inline unsigned BlocksFor(std::int64_t count, int threads_per_block) {
  return static_cast<unsigned>((count + threads_per_block - 1) / threads_per_block);
}

}  // namespace interlacer
