#include "common/kernels/launch.h"
#include "common/random.h"
#include "data/kernels/subset_keys_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;

__global__ void SubsetKeysKernel(std::uint64_t seed, std::uint32_t time, std::int64_t n,
                                 std::int64_t* keys) {
  const std::int64_t c = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (c >= n) return;
  const PhiloxWords w = Philox(seed, static_cast<std::uint32_t>(RandomStream::kSubsample), time,
                               static_cast<std::uint32_t>(c), 0);
  const std::uint64_t key = (static_cast<std::uint64_t>(w.word[1]) << 32) | w.word[0];
  keys[c] = static_cast<std::int64_t>(key ^ (std::uint64_t{1} << 63));
}

}  // namespace

int LaunchSubsetKeys(std::uint64_t seed, std::uint32_t time, std::int64_t n,
                     std::int64_t* keys_device, void* stream) {
  return LaunchBlocks(SubsetKeysKernel, BlocksFor(n, kThreads), kThreads,
                      static_cast<cudaStream_t>(stream), seed, time, n, keys_device);
}

}  // namespace interlacer
