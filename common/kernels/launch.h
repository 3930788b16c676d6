#pragma once

/// Small helpers of CUDA files: error checks, grid sizes, launches. Includes the CUDA runtime; only
/// .cu files include it.

#include <cuda_runtime.h>

#include <cstdint>

/// Returns the cudaError_t of a failed call from a function that returns int.
#define INTERLACER_CUDA_RETURN_IF_ERROR(call)                                  \
  do {                                                                         \
    if (const auto cuda_error_ = (call); static_cast<int>(cuda_error_) != 0) { \
      return static_cast<int>(cuda_error_);                                    \
    }                                                                          \
  } while (false)

namespace interlacer {

/// Lanes of a warp, and the mask that names all of them.
inline constexpr int kWarpLanes = 32;
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

/// The most blocks a launch can have along x.
inline constexpr std::int64_t kMaxBlocks = 2147483647;

/// Blocks that give every one of `count` items a thread.
inline std::int64_t BlocksFor(std::int64_t count, int threads_per_block) {
  return (count + threads_per_block - 1) / threads_per_block;
}

/// Puts `blocks` blocks of `threads` threads on the stream. No blocks are no launch; more than a
/// grid can have are refused with cudaErrorInvalidConfiguration.
template <typename... Parameters, typename... Arguments>
int LaunchBlocks(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                 cudaStream_t stream, const Arguments&... arguments) {
  if (blocks == 0) return 0;
  if (blocks < 0 || blocks > kMaxBlocks) return static_cast<int>(cudaErrorInvalidConfiguration);
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(threads));
  config.stream = stream;
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
  return static_cast<int>(cudaGetLastError());
}

}  // namespace interlacer
