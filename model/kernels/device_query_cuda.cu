#include <cstdio>

#include "common/kernels/launch.h"
#include "model/kernels/device_query_cuda.h"

namespace interlacer {

int CudaDeviceName(int device, char* name, std::size_t size) {
  cudaDeviceProp properties;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaGetDeviceProperties(&properties, device));
  std::snprintf(name, size, "%s", properties.name);
  return 0;
}

int CudaComputeCapability(int device, int* major, int* minor) {
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaDeviceGetAttribute(major, cudaDevAttrComputeCapabilityMajor, device));
  return TakeError(cudaDeviceGetAttribute(minor, cudaDevAttrComputeCapabilityMinor, device));
}

}  // namespace interlacer
