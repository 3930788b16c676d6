#pragma once

/// Small helpers of CUDA files: error checks, grid sizes, launches. Includes the CUDA runtime; only
/// .cu files include it.

#include <cuda_runtime.h>

#include <cstddef>
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

/// Shared memory that every kernel may ask for; beyond it the kernel's limit has to be raised.
inline constexpr std::int64_t kPlainSharedBytes = 48 * 1024;

/// Threads of a block, and the bytes of its shared memory whose size is known at launch.
struct BlockShape {
  int threads;
  std::int64_t shared_bytes;
};

/// Puts `blocks` blocks on the stream. No blocks are no launch; more than a grid can have are
/// refused with cudaErrorInvalidConfiguration, more shared memory than the device has with
/// cudaErrorInvalidValue.
template <typename... Parameters, typename... Arguments>
int LaunchBlocks(void (*kernel)(Parameters...), std::int64_t blocks, const BlockShape& shape,
                 cudaStream_t stream, const Arguments&... arguments) {
  if (blocks == 0) return 0;
  if (blocks < 0 || blocks > kMaxBlocks) return static_cast<int>(cudaErrorInvalidConfiguration);
  if (shape.shared_bytes > kPlainSharedBytes) {
    INTERLACER_CUDA_RETURN_IF_ERROR(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shape.shared_bytes)));
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
  return static_cast<int>(cudaGetLastError());
}

/// The same with `threads` threads a block.
template <typename... Parameters, typename... Arguments>
int LaunchBlocks(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                 cudaStream_t stream, const Arguments&... arguments) {
  return LaunchBlocks(kernel, blocks, BlockShape{threads, 0}, stream, arguments...);
}

}  // namespace interlacer
