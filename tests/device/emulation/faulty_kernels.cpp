#include "faulty_kernels.h"

#include "common/kernels/block_memory.h"
#include "common/kernels/launch.h"

namespace interlacer::testing {

__global__ void NeighborKernel(int* values, int* out, bool wait) {
  __shared__ int shared[kFaultyKernelThreads];
  const int me = static_cast<int>(threadIdx.x);
  shared[me] = values[me];
  if (wait) __syncthreads();
  out[me] = shared[kFaultyKernelThreads - 1 - me];
}

__global__ void LaneKernel(int* out, bool wait) {
  __shared__ int shared[kFaultyKernelThreads];
  const int me = static_cast<int>(threadIdx.x);
  shared[me] = __shfl_sync(kWholeWarp, me, 0);
  if (wait) {
    __syncwarp();
  } else {
    __shfl_sync(kWholeWarp, me, 0);
  }
  out[me] = shared[me ^ 1];
}

__global__ void StoreKernel(int* out, bool is_volatile) {
  if (is_volatile) {
    static_cast<volatile int&>(*out) = 1;
  } else {
    *out = 1;
  }
}

__global__ void SumKernel(int* sum, bool atomically) {
  if (atomically) {
    atomicAdd(sum, 1);
  } else {
    *sum += 1;
  }
}

__global__ void SumAndReadKernel(int* sum) {
  if (threadIdx.x == 0) atomicAdd(sum, 1);
  if (threadIdx.x == 1 && *sum == 7) *sum = 0;
}

__global__ void ReadKernel(const int* values, int* out, int place) { *out = values[place]; }

__global__ void WordKernel(const unsigned char* bytes, float2* out) {
  *out = *reinterpret_cast<const float2*>(bytes);
}

__global__ void ShiftKernel(int* out, int by) { *out = 1 << by; }

__global__ void UnwrittenKernel(int* out, bool write) {
  __shared__ int shared[2];
  if (write || blockIdx.x == 0) shared[1] = 1;
  out[blockIdx.x] = shared[1];
}

__global__ void CopyKernel(const float4* from, float4* to, bool wait) {
  float4* const shared = LaunchedShared<float4>();
  BeginCopy16(shared, from);
  if (wait) AwaitCopies();
  *to = *shared;
  if (!wait) AwaitCopies();
}

}  // namespace interlacer::testing
