#include "bench/kernels/device_rates_cuda.h"
#include "common/kernels/launch.h"

namespace interlacer::bench {
namespace {

constexpr int kThreads = 256;

/// Bound: memory, which it measures; each 16 bytes are read and written once.
/// Block: nothing is shared; blocks stride over the array.
/// Layout: neighbouring threads copy neighbouring 16 bytes.
__global__ void CopyKernel(const float4* from, float4* to, std::int64_t count) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  for (std::int64_t i = GlobalThread(); i < count; i += stride) {
    to[i] = from[i];
  }
}

/// Bound: the L2, which it measures, if the array fits there; the sum costs little beside a load.
/// Block: nothing is shared; blocks stride over the array, another part in each pass.
/// Layout: neighbouring threads read neighbouring 16 bytes.
__global__ void ReadKernel(const float4* from, std::int64_t count, int passes, float* sums) {
  const std::int64_t stride = static_cast<std::int64_t>(gridDim.x) * kThreads;
  float sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
    // Shifted by a block in each pass, so that no multiprocessor finds the lines in its own cache.
    const std::int64_t first = (blockIdx.x + pass) % gridDim.x;
    for (std::int64_t i = first * kThreads + threadIdx.x; i < count; i += stride) {
      const float4 value = from[i];
      sum += value.x + value.y + value.z + value.w;
    }
  }
  // Never true for numbers in [0,1), but it prevents the compiler from removing the reads.
  if (sum < 0) sums[blockIdx.x] = sum;
}

/// Bound: the cost of a launch, which it measures.
/// Block, layout: blocks as CopyKernel has them; no memory is touched.
__global__ void EmptyKernel() {}

}  // namespace

CudaError LaunchCopy(const void* from, void* to, std::int64_t bytes, CudaStream stream) {
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float4));
  return LaunchBlocks(CopyKernel, BlocksFor(count, kThreads), kThreads, stream,
                      static_cast<const float4*>(from), static_cast<float4*>(to), count);
}

CudaError LaunchRead(const void* from, std::int64_t bytes, int passes, float* sums,
                     CudaStream stream) {
  const std::int64_t count = bytes / static_cast<std::int64_t>(sizeof(float4));
  return LaunchBlocks(ReadKernel, kReadBlocks, kThreads, stream, static_cast<const float4*>(from),
                      count, passes, sums);
}

CudaError LaunchEmpty(int blocks, CudaStream stream) {
  return LaunchBlocks(EmptyKernel, blocks, kThreads, stream);
}

}  // namespace interlacer::bench
