#pragma once

/// Small helpers of CUDA files: error checks, grid sizes, launches. Includes the CUDA runtime; only
/// .cu files include it.

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "common/kernels/cuda.h"

/// Returns the error of a failed call from a function that returns CudaError.
#define INTERLACER_CUDA_RETURN_IF_ERROR(call)                                  \
  do {                                                                         \
    const ::interlacer::CudaError cuda_error_ = ::interlacer::TakeError(call); \
    if (!cuda_error_.ok()) return cuda_error_;                                 \
  } while (false)

namespace interlacer {

/// Returns the code of a call and clears the error that the runtime remembers, so that a failure is
/// reported only once.
inline CudaError TakeError(CudaError error) {
  if (!error.ok()) (void)cudaGetLastError();
  return error;
}

/// Shared memory that a block may use without raising the limit of its kernel.
inline constexpr std::int64_t kPlainSharedBytes = 48 * 1024;

/// Lanes of a warp, and the mask that names all of them.
inline constexpr int kWarpLanes = 32;
inline constexpr unsigned kWholeWarp = 0xFFFFFFFFu;

/// The most blocks a launch can have along x.
inline constexpr std::int64_t kMaxBlocks = 2147483647;

/// Blocks that give every one of `count` items a thread.
inline std::int64_t BlocksFor(std::int64_t count, int threads_per_block) {
  return (count + threads_per_block - 1) / threads_per_block;
}

/// The thread's number in a grid along x.
__device__ inline std::int64_t GlobalThread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

/// The warp's number, in blocks of whole warps.
__device__ inline std::int64_t GlobalWarp() {
  return static_cast<std::int64_t>(blockIdx.x) * (blockDim.x / kWarpLanes) +
         threadIdx.x / kWarpLanes;
}

/// Shared memory that a block can have at most on the current device.
inline CudaError BlockSharedBytes(int* size_bytes) {
  int device = 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  return TakeError(
      cudaDeviceGetAttribute(size_bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
}

/// Threads of a block, and the bytes of its shared memory whose size is known at launch.
struct BlockShape {
  int threads;
  std::int64_t shared_bytes;
};

/// Lets blocks of the kernel have `shared_bytes` besides what the kernel declares, or refuses with
/// cudaErrorInvalidValue. The limit is always raised to all that the device has, so that no launch
/// lowers the limit of another. The size is checked before the call that would fail on it, because
/// tools count failed calls.
template <typename... Parameters>
CudaError RaiseSharedLimit(void (*kernel)(Parameters...), std::int64_t shared_bytes) {
  int block_bytes = 0;
  cudaFuncAttributes attributes = {};
  INTERLACER_CUDA_RETURN_IF_ERROR(BlockSharedBytes(&block_bytes));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel)));
  const std::int64_t most = block_bytes - static_cast<std::int64_t>(attributes.sharedSizeBytes);
  if (shared_bytes > most) return cudaErrorInvalidValue;
  if (shared_bytes > kPlainSharedBytes) {
    // Prefers shared memory to L1 cache, so that several blocks of this size fit on a
    // multiprocessor.
    INTERLACER_CUDA_RETURN_IF_ERROR(cudaFuncSetAttribute(
        kernel, cudaFuncAttributePreferredSharedMemoryCarveout, cudaSharedmemCarveoutMaxShared));
  }
  return TakeError(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                        static_cast<int>(most)));
}

/// Blocks of the kernel that the current device holds at once; 0 is an error. A kernel whose blocks
/// take tiles in turns needs no more blocks than these: further ones would start only after the
/// first have finished.
template <typename... Parameters>
CudaError ResidentBlocks(void (*kernel)(Parameters...), const BlockShape& shape,
                         std::int64_t* blocks) {
  int device = 0, multiprocessors = 0, each = 0;
  if (shape.shared_bytes > 0) {
    INTERLACER_CUDA_RETURN_IF_ERROR(RaiseSharedLimit(kernel, shape.shared_bytes));
  }
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaGetDevice(&device));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device));
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaOccupancyMaxActiveBlocksPerMultiprocessor(
      &each, kernel, shape.threads, static_cast<std::size_t>(shape.shared_bytes)));
  *blocks = static_cast<std::int64_t>(each) * multiprocessors;
  return *blocks > 0 ? cudaSuccess : cudaErrorInvalidConfiguration;
}

/// Launches `blocks` blocks on the stream. Zero blocks are not launched; more than a grid can have
/// are refused with cudaErrorInvalidConfiguration, more shared memory than the device has with
/// cudaErrorInvalidValue. Errors of earlier calls are not returned.
template <typename... Parameters, typename... Arguments>
CudaError LaunchBlocks(void (*kernel)(Parameters...), std::int64_t blocks, const BlockShape& shape,
                       CudaStream stream, const Arguments&... arguments) {
  if (blocks == 0) return 0;
  if (blocks < 0 || blocks > kMaxBlocks) return cudaErrorInvalidConfiguration;
  if (shape.shared_bytes > 0) {
    INTERLACER_CUDA_RETURN_IF_ERROR(RaiseSharedLimit(kernel, shape.shared_bytes));
  }
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(static_cast<unsigned>(blocks));
  config.blockDim = dim3(static_cast<unsigned>(shape.threads));
  config.dynamicSmemBytes = static_cast<std::size_t>(shape.shared_bytes);
  config.stream = stream;
  return TakeError(cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(arguments)...));
}

/// Launches blocks of `threads` threads without shared memory sized at launch.
template <typename... Parameters, typename... Arguments>
CudaError LaunchBlocks(void (*kernel)(Parameters...), std::int64_t blocks, int threads,
                       CudaStream stream, const Arguments&... arguments) {
  return LaunchBlocks(kernel, blocks, BlockShape{threads, 0}, stream, arguments...);
}

}  // namespace interlacer
