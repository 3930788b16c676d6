#pragma once

/// Queries the name and compute capability of a CUDA device. Functions return a cudaError_t, 0
/// being success. Thread-safe.

#include <cstddef>

namespace interlacer {

/// Error of every launcher in a build without CUDA: cudaErrorNoDevice.
inline constexpr int kNoDevice = 100;

/// Writes the name of a device, truncated to `size` characters including the final zero.
int CudaDeviceName(int device, char* name, std::size_t size);

/// For compute capability 8.6: major 8, minor 6.
int CudaComputeCapability(int device, int* major, int* minor);

}  // namespace interlacer
