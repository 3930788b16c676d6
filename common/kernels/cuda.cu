#include <cstdio>

#include "common/kernels/cuda.h"
#include "common/kernels/launch.h"

namespace interlacer {

const char* CudaErrorText(CudaError error) {
  return cudaGetErrorString(static_cast<cudaError_t>(error.code));
}

int CudaDeviceCount() {
  int count = 0;
  // Without a driver: 0 devices, and no error for later calls.
  return TakeError(cudaGetDeviceCount(&count)).ok() ? count : 0;
}

CudaError CudaDeviceName(int device, char* name, std::size_t size) {
  cudaDeviceProp properties;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, device));
  std::snprintf(name, size, "%s", properties.name);
  return {};
}

CudaError CudaComputeCapability(int device, int* major, int* minor) {
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device));
  return TakeError(cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device));
}

}  // namespace interlacer
