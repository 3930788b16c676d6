#pragma once

/// Inclusive prefix sums of int32 on the device, in place. Only .cu files include it.
///
/// Three launches: sums within tiles, sums of the tiles' totals, totals added. Integers, so the
/// order of additions does not show. Allocates nothing.

#include <cstdint>

#include "common/kernels/launch.h"

namespace interlacer {

inline constexpr int kScanThreads = 256;
inline constexpr int kScanItems = 8;  // a thread
inline constexpr int kScanTile = kScanThreads * kScanItems;

/// Number of int32 that LaunchPrefixSum needs as scratch memory.
inline std::int64_t PrefixSumScratchCount(std::int64_t count) {
  return (count + kScanTile - 1) / kScanTile;
}

/// Inclusive sums of the values that the threads of a block hold; `shared` has kThreads places.
template <int kThreads>
__device__ std::int32_t BlockInclusiveSum(std::int32_t value, std::int32_t* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int step = 1; step < kThreads; step *= 2) {
    const std::int32_t other =
        threadIdx.x >= static_cast<unsigned>(step) ? shared[threadIdx.x - step] : 0;
    __syncthreads();
    shared[threadIdx.x] += other;
    __syncthreads();
  }
  const std::int32_t sum = shared[threadIdx.x];
  __syncthreads();
  return sum;
}

/// Inclusive sums within each tile of kScanTile values, in place; the tiles' totals beside.
template <int kThreads>
__global__ void ScanTilesKernel(std::int32_t* values, std::int64_t count, std::int32_t* tile_sums) {
  __shared__ std::int32_t shared[kThreads];
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * kScanTile + threadIdx.x * kScanItems;
  std::int32_t items[kScanItems];
  std::int32_t sum = 0;
  for (int s = 0; s < kScanItems; ++s) {
    items[s] = first + s < count ? values[first + s] : 0;
    sum += items[s];
  }
  const std::int32_t through = BlockInclusiveSum<kThreads>(sum, shared);
  std::int32_t running = through - sum;
  for (int s = 0; s < kScanItems; ++s) {
    running += items[s];
    if (first + s < count) values[first + s] = running;
  }
  if (threadIdx.x == kThreads - 1) tile_sums[blockIdx.x] = through;
}

/// Turns the tiles' totals into the sums of all tiles before; one block.
template <int kThreads>
__global__ void ScanTotalsKernel(std::int32_t* tile_sums, std::int64_t tiles) {
  __shared__ std::int32_t shared[kThreads];
  __shared__ std::int32_t carry;
  if (threadIdx.x == 0) carry = 0;
  __syncthreads();
  for (std::int64_t begin = 0; begin < tiles; begin += kThreads) {
    const std::int64_t at = begin + threadIdx.x;
    const std::int32_t value = at < tiles ? tile_sums[at] : 0;
    const std::int32_t through = BlockInclusiveSum<kThreads>(value, shared);
    const std::int32_t before = carry;
    __syncthreads();
    if (at < tiles) tile_sums[at] = before + through - value;
    if (threadIdx.x == kThreads - 1) carry = before + through;
    __syncthreads();
  }
}

template <int kThreads>
__global__ void AddTotalsKernel(std::int32_t* values, std::int64_t count,
                                const std::int32_t* tile_sums) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * kThreads + threadIdx.x;
  if (i < count) values[i] += tile_sums[i / kScanTile];
}

/// values[i] becomes values[0] + ... + values[i]; scratch [PrefixSumScratchCount(count)].
inline int LaunchPrefixSum(std::int32_t* values, std::int64_t count, std::int32_t* scratch,
                           cudaStream_t stream) {
  const std::int64_t tiles = PrefixSumScratchCount(count);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(ScanTilesKernel<kScanThreads>, tiles, kScanThreads,
                                               stream, values, count, scratch));
  if (tiles <= 1) return 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(ScanTotalsKernel<kScanThreads>, 1, kScanThreads, stream, scratch, tiles));
  return LaunchBlocks(AddTotalsKernel<kScanThreads>, BlocksFor(count, kScanThreads), kScanThreads,
                      stream, values, count, scratch);
}

}  // namespace interlacer
