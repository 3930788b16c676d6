#pragma once

/// What CUDA device answers. Functions return a cudaError_t, 0 being success. Thread-safe.

#include <cstddef>

namespace interlacer {

/// What launchers answer in a build without CUDA: cudaErrorNoDevice.
inline constexpr int kNoDevice = 100;

/// Writes the name of a device, cut to `size` characters with the final zero.
int CudaDeviceName(int device, char* name, std::size_t size);

/// 8 and 6 of a device of compute capability 8.6.
int CudaComputeCapability(int device, int* major, int* minor);

}  // namespace interlacer
