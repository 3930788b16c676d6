#pragma once

/// Inclusive prefix sums of int32 on the device, in place. Only .cu files include it.
///
/// The first launch sums within tiles, the last adds to each tile the totals of the tiles before
/// it. Where there are many tiles, a launch in between turns their totals into prefix sums. Sums of
/// integers do not depend on the order of additions. Allocates nothing.

#include <cstdint>

#include "common/kernels/launch.h"

namespace interlacer {

inline constexpr int kScanThreads = 256;
inline constexpr int kScanItems = 8;  // per thread
inline constexpr int kScanTile = kScanThreads * kScanItems;
/// Up to this many totals each block adds up by itself: four per thread.
inline constexpr std::int64_t kScanFewTiles = 4 * kScanThreads;

/// Number of int32 that LaunchPrefixSum needs as scratch memory.
inline std::int64_t PrefixSumScratchCount(std::int64_t count) {
  return (count + kScanTile - 1) / kScanTile;
}

/// Inclusive sums of the values that the threads of a block hold; `shared` has one element per
/// warp.
template <int kThreads>
__device__ std::int32_t BlockInclusiveSum(std::int32_t value, std::int32_t* shared) {
  static_assert(kThreads % kWarpLanes == 0);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
#pragma unroll
  for (int step = 1; step < kWarpLanes; step *= 2) {
    const std::int32_t other = __shfl_up_sync(kWholeWarp, value, step);
    value += lane >= step ? other : 0;
  }
  if (lane == kWarpLanes - 1) shared[warp] = value;
  __syncthreads();
#pragma unroll
  for (int w = 0; w < kThreads / kWarpLanes - 1; ++w) value += w < warp ? shared[w] : 0;
  __syncthreads();  // the next sum writes to the same places
  return value;
}

/// The sum of the values that the threads of a block hold, returned to all of them.
template <int kThreads>
__device__ std::int32_t BlockSum(std::int32_t value, std::int32_t* shared) {
  static_assert(kThreads % kWarpLanes == 0);
#pragma unroll
  for (int step = kWarpLanes / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, step);
  }
  if (threadIdx.x % kWarpLanes == 0) shared[threadIdx.x / kWarpLanes] = value;
  __syncthreads();
  std::int32_t sum = 0;
#pragma unroll
  for (int w = 0; w < kThreads / kWarpLanes; ++w) sum += shared[w];
  __syncthreads();  // the next sum writes to the same places
  return sum;
}

/// Inclusive sums within each tile of kScanTile values, in place, and the total of each tile.
/// Bound: memory; every value is read and written once.
/// Block: a tile per block; more values per thread mean fewer totals for the next launch.
/// Layout: a thread holds kScanItems consecutive values, so that its own sum needs no exchange.
template <int kThreads>
__global__ void ScanTilesKernel(std::int32_t* values, std::int64_t count, std::int32_t* tile_sums) {
  __shared__ std::int32_t shared[kThreads / kWarpLanes];
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

/// Turns the tiles' totals into the sums of all tiles before them.
/// Bound: latency of the barriers; the totals are few.
/// Block: a single one, which carries the running sum from one stretch of totals to the next.
/// Layout: neighbouring threads read neighbouring totals.
template <int kThreads>
__global__ void ScanTotalsKernel(std::int32_t* tile_sums, std::int64_t tiles) {
  __shared__ std::int32_t shared[kThreads / kWarpLanes];
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

/// Adds to the values of a tile the totals of all tiles before it. `tile_sums` holds the tiles'
/// totals, or with kSummed the sums of all tiles before.
/// Bound: memory; every value is read and written once.
/// Block: a tile per block, without the first tile, which is complete already.
/// Layout: neighbouring threads read neighbouring values.
template <int kThreads, bool kSummed>
__global__ void AddTotalsKernel(std::int32_t* values, std::int64_t count,
                                const std::int32_t* tile_sums) {
  __shared__ std::int32_t shared[kThreads / kWarpLanes];
  const std::int64_t tile = std::int64_t{blockIdx.x} + 1;
  std::int32_t before = 0;
  if constexpr (kSummed) {
    before = tile_sums[tile];
  } else {
    for (std::int64_t t = threadIdx.x; t < tile; t += kThreads) before += tile_sums[t];
    before = BlockSum<kThreads>(before, shared);
  }
#pragma unroll
  for (int s = 0; s < kScanItems; ++s) {
    const std::int64_t i = tile * kScanTile + s * kThreads + threadIdx.x;
    if (i < count) values[i] += before;
  }
}

/// values[i] becomes values[0] + ... + values[i]; scratch [PrefixSumScratchCount(count)].
inline CudaError LaunchPrefixSum(std::int32_t* values, std::int64_t count, std::int32_t* scratch,
                                 CudaStream stream) {
  const std::int64_t tiles = PrefixSumScratchCount(count);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(ScanTilesKernel<kScanThreads>, tiles, kScanThreads,
                                               stream, values, count, scratch));
  if (tiles <= 1) return 0;
  if (tiles <= kScanFewTiles) {
    return LaunchBlocks(AddTotalsKernel<kScanThreads, false>, tiles - 1, kScanThreads, stream,
                        values, count, scratch);
  }
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(ScanTotalsKernel<kScanThreads>, 1, kScanThreads, stream, scratch, tiles));
  return LaunchBlocks(AddTotalsKernel<kScanThreads, true>, tiles - 1, kScanThreads, stream, values,
                      count, scratch);
}

}  // namespace interlacer
