#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "model/kernels/walk_sampler_cuda.h"

namespace interlacer {
namespace {

/// Roots of a block, one a thread. Their walkers are in shared memory: local memory would be
/// reserved for every thread that the device can hold.
constexpr int kRoots = 16;
constexpr int kPowers = kCudaWalkHops + 1;
constexpr int kMaxVisits = kMaxCudaWalks * kPowers;

struct RootMemory {
  Walker walkers[kMaxCudaWalks];
  double draws[kMaxCudaWalks];
  double visit_loads[kMaxVisits];
  WalkGroupMember order[kMaxCudaWalks];
  std::int32_t visit_nodes[kMaxVisits];
  std::uint8_t visit_hops[kMaxVisits];
};

struct InsertionSort {
  __device__ void operator()(WalkGroupMember* begin, WalkGroupMember* end) const {
    for (WalkGroupMember* next = begin + 1; next < end; ++next) {
      const WalkGroupMember moved = *next;
      WalkGroupMember* hole = next;
      for (; hole > begin && moved < hole[-1]; --hole) *hole = hole[-1];
      *hole = moved;
    }
  }
};

/// Walks from a root and adds up its visits: write(place, node, sums [kPowers]) by ascending node,
/// visits of a node in the order they were made. Returns the number of nodes.
template <typename Write>
__device__ int SampleRow(const WalkEdges& edges, const WalkSamplerOptions& options,
                         std::int32_t root, RootMemory& memory, const Write& write) {
  int visits = 0;
  WalkEnsemble<InsertionSort> ensemble(edges, options, {memory.walkers, memory.draws, memory.order},
                                       InsertionSort());
  ensemble.Run(root, root, [&](std::int32_t node, int hops, double load) {
    // Insertion keeps the visits sorted by node.
    int place = visits++;
    for (; place > 0 && memory.visit_nodes[place - 1] > node; --place) {
      memory.visit_nodes[place] = memory.visit_nodes[place - 1];
      memory.visit_hops[place] = memory.visit_hops[place - 1];
      memory.visit_loads[place] = memory.visit_loads[place - 1];
    }
    memory.visit_nodes[place] = node;
    memory.visit_hops[place] = static_cast<std::uint8_t>(hops);
    memory.visit_loads[place] = load;
  });
  int size = 0;
  for (int v = 0; v < visits; ++size) {
    const std::int32_t node = memory.visit_nodes[v];
    double sums[kPowers] = {};
    for (; v < visits && memory.visit_nodes[v] == node; ++v) {
      for (int t = 0; t < kPowers; ++t) {
        if (memory.visit_hops[v] == t) sums[t] += memory.visit_loads[v];
      }
    }
    write(size, node, sums);
  }
  return size;
}

/// Writes the size of row i to offsets[i + 1], which a prefix sum turns into the end of the row.
/// Bound: latency of each root's chain of draws, sorts and edges, one thread a root.
/// Block: 16 roots, whose walkers and visits fit the 48 KB of shared memory of a plain launch.
/// Layout: each root's memory is contiguous; rows are walked twice rather than stored.
__global__ void SampledSizeKernel(WalkEdges edges, std::int64_t n, WalkSamplerOptions options,
                                  std::int32_t* offsets) {
  __shared__ RootMemory memory[kRoots];
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  if (i == 0) offsets[0] = 0;
  offsets[i + 1] = SampleRow(edges, options, static_cast<std::int32_t>(i), memory[threadIdx.x],
                             [](int, std::int32_t, const double(&)[kPowers]) {});
}

/// Repeats the walks and writes the rows at their offsets.
/// Bound, block, layout: as SampledSizeKernel.
__global__ void SampledEntriesKernel(WalkEdges edges, std::int64_t n, WalkSamplerOptions options,
                                     double scale, SampledWalksDevice walks) {
  __shared__ RootMemory memory[kRoots];
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  const std::int64_t begin = walks.offsets[i];
  SampleRow(edges, options, static_cast<std::int32_t>(i), memory[threadIdx.x],
            [&](int place, std::int32_t node, const double(&sums)[kPowers]) {
              walks.nodes[begin + place] = node;
              for (int t = 0; t < kPowers; ++t) {
                walks.loads[kPowers * (begin + place) + t] = static_cast<float>(sums[t] * scale);
              }
            });
}

}  // namespace

std::size_t SampleWalksWorkspaceBytes(std::int64_t n) {
  return static_cast<std::size_t>(PrefixSumScratchCount(n + 1)) * sizeof(std::int32_t);
}

CudaError LaunchSampleWalks(const WalkEdges& edges, std::int64_t n,
                            const WalkSamplerOptions& options, void* workspace_device,
                            const SampledWalksDevice& walks, CudaStream stream) {
  const bool odd_pairs = HaltsInPairs(options) && options.walk_count % 2 != 0;
  if (n < 0 || options.max_hops != kCudaWalkHops || options.walk_count < 1 ||
      options.walk_count > kMaxCudaWalks || odd_pairs) {
    return cudaErrorInvalidValue;
  }
  if (n == 0) {
    return TakeError(cudaMemsetAsync(walks.offsets, 0, sizeof(std::int32_t), stream));
  }
  const std::int64_t blocks = BlocksFor(n, kRoots);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(SampledSizeKernel, blocks, kRoots, stream, edges, n, options, walks.offsets));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchPrefixSum(walks.offsets, n + 1, static_cast<std::int32_t*>(workspace_device), stream));
  return LaunchBlocks(SampledEntriesKernel, blocks, kRoots, stream, edges, n, options,
                      1.0 / options.walk_count, walks);
}

}  // namespace interlacer
