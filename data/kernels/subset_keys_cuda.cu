#include "common/kernels/launch.h"
#include "common/random.h"
#include "data/kernels/subset_keys_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;

struct SubsetDraw {
  std::uint64_t seed;
  std::uint32_t time;
  __device__ PhiloxWords operator()(std::uint32_t candidate) const {
    return Philox(seed, static_cast<std::uint32_t>(RandomStream::kSubsample), time, candidate, 0);
  }
};

struct AnchorDraw {
  std::uint64_t seed;
  __device__ PhiloxWords operator()(std::uint32_t candidate) const {
    return Philox(seed, static_cast<std::uint32_t>(RandomStream::kAnchors), 0, 0, candidate);
  }
};

/// Keys of all candidates.
/// Bound: arithmetic of Philox, about 100 operations per key, next to a write of 8 bytes.
/// Block: a thread per candidate, nothing shared.
/// Layout: neighbouring threads write neighbouring keys.
template <typename Draw>
__global__ void KeysKernel(Draw draw, std::int64_t n, std::int64_t* keys) {
  const std::int64_t c = GlobalThread();
  if (c >= n) return;
  const PhiloxWords w = draw(static_cast<std::uint32_t>(c));
  const std::uint64_t key = (static_cast<std::uint64_t>(w.word[1]) << 32) | w.word[0];
  keys[c] = static_cast<std::int64_t>(key ^ (std::uint64_t{1} << 63));
}

template <typename Draw>
CudaError LaunchKeys(const Draw& draw, std::int64_t n, std::int64_t* keys, CudaStream stream) {
  return LaunchBlocks(KeysKernel<Draw>, BlocksFor(n, kThreads), kThreads, stream, draw, n, keys);
}

}  // namespace

CudaError LaunchSubsetKeys(std::uint64_t seed, std::uint32_t time, std::int64_t n,
                           std::int64_t* keys_device, CudaStream stream) {
  return LaunchKeys(SubsetDraw{seed, time}, n, keys_device, stream);
}

CudaError LaunchAnchorKeys(std::uint64_t seed, std::int64_t n, std::int64_t* keys_device,
                           CudaStream stream) {
  return LaunchKeys(AnchorDraw{seed}, n, keys_device, stream);
}

}  // namespace interlacer
