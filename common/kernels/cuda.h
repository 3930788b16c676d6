#pragma once

/// The contract of every launcher of CUDA kernels (files *_cuda.h), and queries of devices.
///
/// Pointers are on the current device unless a name or comment says host; work goes on the given
/// stream and a call returns before it is done. A launch that does not fit the kernels is refused
/// with cudaErrorInvalidValue before anything is launched. Equal calls give equal bits. Includes no
/// header of CUDA. Threads: calls may run together.

#include <cstddef>

/// A member of a table of launchers: name and type of a function, set to it. Only a program that
/// links kernels, those of devices or emulated ones of the same names, can make a table.
#define INTERLACER_LAUNCHER(name) decltype(&::interlacer::name) name = &::interlacer::name

/// What a cudaStream_t points to.
struct CUstream_st;

namespace interlacer {

using CudaStream = CUstream_st*;  ///< cudaStream_t

/// cudaError_t of a call; 0 is success.
struct [[nodiscard]] CudaError {
  int code = 0;

  constexpr CudaError(int error = 0) : code(error) {}
  constexpr bool ok() const { return code == 0; }
  friend constexpr bool operator==(const CudaError&, const CudaError&) = default;
};

const char* CudaErrorText(CudaError error);

/// Number of usable CUDA devices; 0 without a driver.
int CudaDeviceCount();

/// Writes the name of a device, truncated to `size` characters including the final zero.
CudaError CudaDeviceName(int device, char* name, std::size_t size);

/// For compute capability 8.6: major 8, minor 6.
CudaError CudaComputeCapability(int device, int* major, int* minor);

}  // namespace interlacer
