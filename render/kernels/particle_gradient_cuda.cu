#include <bit>

#include "common/kernels/launch.h"
#include "common/kernels/radix_sort.h"
#include "common/kernels/workspace.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;
constexpr int kChannelsPerLane = kMaxCudaFeatureWidth / kGatherWidth;

struct Workspace {
  RadixSortBuffers sort;
  std::size_t size_bytes;
};

Workspace Carve(void* base, std::int64_t m) {
  WorkspaceCutter cutter(base);
  const std::int64_t entries = kGatherWidth * m;
  Workspace w;
  for (int side = 0; side < 2; ++side) {
    w.sort.keys[side] = cutter.Take<std::uint32_t>(entries);
    w.sort.values[side] = cutter.Take<std::uint32_t>(entries);
  }
  w.sort.scratch = cutter.Take<std::int32_t>(RadixSortScratchCount(entries));
  w.size_bytes = cutter.size_bytes();
  return w;
}

/// Entries to sort. Key: the slot, or one past the last where there is no neighbour. Value: sample
/// * 16 + lane.
/// Bound: memory; a slot is read once, a key and a value are written.
/// Block: a thread per entry, nothing shared.
/// Layout: an entry is numbered by its place in slots [m,16].
__global__ void EntriesKernel(const std::uint32_t* slots, std::int64_t m, std::uint32_t past_last,
                              std::uint32_t* keys, std::uint32_t* values, PassRange pass) {
  const std::int64_t i = GlobalThread();
  if (i >= kGatherWidth * m) return;
  const bool named = i < kGatherWidth * CountInPass(pass, m) && slots[i] != kNoSlot;
  keys[i] = named ? slots[i] : past_last;
  values[i] = static_cast<std::uint32_t>(i);
}

/// The first of `count` ascending keys that is not below `key`; called by a whole warp.
__device__ std::int64_t LowerBound(const std::uint32_t* keys, std::int64_t count,
                                   std::uint32_t key) {
  const std::int64_t lane = threadIdx.x % kWarpLanes;
  std::int64_t low = 0;
  std::int64_t high = count;
  while (low < high) {
    const std::int64_t part = (high - low + kWarpLanes - 1) / kWarpLanes;
    const std::int64_t probe = low + (lane + 1) * part - 1;
    const bool below = probe < high && keys[probe] < key;
    low += __popc(__ballot_sync(kWholeWarp, below)) * part;
    if (low > high) low = high;
    if (low + part - 1 < high) high = low + part - 1;
  }
  return low;
}

/// Sums the entries of every particle in a fixed order, without atomics.
/// Bound: gathers of gradient rows, one per entry and kernel.
/// Block: a warp per particle; its two halves take entries in turns, with a lane per channel or
/// axis, so that a row is read at once.
/// Layout: entries are sorted by slot, so that those of a particle are one range.
__global__ void ParticleGradientKernel(const __grid_constant__ ParticleTreeView tree,
                                       ParticleGradientInputs in, const std::uint32_t* keys,
                                       const std::uint32_t* entries, std::int64_t entry_count,
                                       float* position_grad, float* feature_grad) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int member = lane % kGatherWidth;
  const std::int64_t slot = GlobalWarp();
  if (slot >= tree.particle_count) return;
  const std::int64_t begin = LowerBound(keys, entry_count, static_cast<std::uint32_t>(slot));
  const std::int64_t end = LowerBound(keys, entry_count, static_cast<std::uint32_t>(slot) + 1);
  if (begin == end) return;
  float position = 0;
  if (member < 3) {
    position = tree.leaf_xyz[48 * (slot / kGatherWidth) + 16 * member + slot % kGatherWidth];
  }
  float position_sum = 0;
  float feature_sum[kChannelsPerLane] = {};
  for (std::int64_t e = begin + lane / kGatherWidth; e < end; e += 2) {
    const std::int64_t entry = entries[e];
    const std::int64_t sample = entry / kGatherWidth;
    if (member < 3) {
      position_sum += in.entry_slopes[entry] * (position - in.points_m[3 * sample + member]);
    }
    for (int b = 0; b < in.kernel_count; ++b) {
      const float weight = in.entry_weights[entry * in.kernel_count + b];
      const float* row = in.feature_grad_rows + (sample * in.kernel_count + b) * in.feature_width;
#pragma unroll
      for (int j = 0; j < kChannelsPerLane; ++j) {
        const int c = member + kGatherWidth * j;
        if (c < in.feature_width) feature_sum[j] += weight * row[c];
      }
    }
  }
  position_sum += __shfl_xor_sync(kWholeWarp, position_sum, kGatherWidth);
#pragma unroll
  for (float& sum : feature_sum) sum += __shfl_xor_sync(kWholeWarp, sum, kGatherWidth);
  if (lane >= kGatherWidth) return;
  const std::int64_t original = tree.original_index[slot];
  if (position_grad != nullptr && member < 3) position_grad[3 * original + member] += position_sum;
  if (feature_grad == nullptr) return;
#pragma unroll
  for (int j = 0; j < kChannelsPerLane; ++j) {
    const int c = member + kGatherWidth * j;
    if (c < in.feature_width) feature_grad[original * in.feature_width + c] += feature_sum[j];
  }
}

}  // namespace

std::size_t ParticleGradientWorkspaceBytes(std::int64_t m) { return Carve(nullptr, m).size_bytes; }

CudaError LaunchParticleGradients(const ParticleTreeView& tree,
                                  const ParticleGradientInputs& inputs, void* workspace,
                                  float* position_grad_device, float* feature_grad_device,
                                  CudaStream stream, const PassRange& pass) {
  if (inputs.feature_width > kMaxCudaFeatureWidth) return cudaErrorInvalidValue;
  const std::int64_t n = tree.particle_count;
  const std::int64_t entries = kGatherWidth * inputs.m;
  if (n == 0 || entries == 0) return 0;
  const Workspace w = Carve(workspace, inputs.m);
  const int key_bits = static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n)));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(
      EntriesKernel, BlocksFor(entries, kThreads), kThreads, stream, inputs.slots, inputs.m,
      static_cast<std::uint32_t>(n), w.sort.keys[0], w.sort.values[0], pass));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchRadixSort(w.sort, entries, key_bits, stream));
  const int sorted = RadixSortResult(key_bits);
  return LaunchBlocks(ParticleGradientKernel, BlocksFor(n, kWarps), kThreads, stream, tree, inputs,
                      w.sort.keys[sorted], w.sort.values[sorted], entries, position_grad_device,
                      feature_grad_device);
}

}  // namespace interlacer
