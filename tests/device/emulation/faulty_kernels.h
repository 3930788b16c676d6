#pragma once

/// Kernels with one fault each, which an argument switches on or off.

#include <cuda_runtime.h>

namespace interlacer::testing {

inline constexpr int kFaultyKernelThreads = 64;

__global__ void NeighborKernel(int* values, int* out, bool wait);
/// A shuffle exchanges values but does not order memory.
__global__ void LaneKernel(int* out, bool wait);
__global__ void StoreKernel(int* out, bool is_volatile);
__global__ void SumKernel(int* sum, bool atomically);
__global__ void SumAndReadKernel(int* sum);
__global__ void ReadKernel(const int* values, int* out, int place);
__global__ void WordKernel(const unsigned char* bytes, float2* out);
__global__ void ShiftKernel(int* out, int by);
__global__ void UnwrittenKernel(int* out, bool write);
__global__ void CopyKernel(const float4* from, float4* to, bool wait);

}  // namespace interlacer::testing
