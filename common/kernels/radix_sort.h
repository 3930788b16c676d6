#pragma once

/// Stable sort of (key, value) pairs by unsigned keys on the device. Only .cu files include it.
///
/// Each round sorts by eight bits of the key, the lowest first: keys are counted by tile and digit,
/// the counts are summed, and the pairs are moved. A round has two launches while tiles are few,
/// because each tile then sums the counts by itself; otherwise prefix sums of the counts run in
/// between. Equal keys keep their order, so the result is a function of the input. Allocates
/// nothing.

#include <cstdint>

#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"

namespace interlacer {

inline constexpr int kRadixBits = 8;
inline constexpr int kRadixDigits = 1 << kRadixBits;
inline constexpr int kRadixThreads = kRadixDigits;  // one per digit where digits are counted
inline constexpr int kRadixWarps = kRadixThreads / kWarpLanes;
inline constexpr int kRadixItems = 8;  // per thread
inline constexpr int kRadixTile = kRadixThreads * kRadixItems;
/// Up to this many tiles every tile reads the counts of all others.
inline constexpr std::int64_t kRadixFewTiles = 64;

/// Two arrays each for keys and values, all of `count` items, and int32 scratch memory.
struct RadixSortBuffers {
  std::uint32_t* keys[2];
  std::uint32_t* values[2];
  std::int32_t* scratch;  ///< [RadixSortScratchCount(count)]
};

inline std::int64_t RadixTiles(std::int64_t count) { return (count + kRadixTile - 1) / kRadixTile; }

/// Counts of every digit and tile, one element more, and the scratch memory of their prefix sums.
inline std::int64_t RadixSortScratchCount(std::int64_t count) {
  const std::int64_t begins = kRadixDigits * RadixTiles(count) + 1;
  return begins + PrefixSumScratchCount(begins);
}

/// Sorts by the lowest `key_bits` bits; returns which of the two arrays hold the result.
inline int RadixSortResult(int key_bits) { return (key_bits + kRadixBits - 1) / kRadixBits % 2; }

/// Index of an item of this thread: a warp has consecutive items, 32 at a time, in the order of the
/// tile.
__device__ inline std::int64_t RadixPlace(int item) {
  const std::int64_t warp = threadIdx.x / kWarpLanes;
  return static_cast<std::int64_t>(blockIdx.x) * kRadixTile +
         (warp * kRadixItems + item) * kWarpLanes + threadIdx.x % kWarpLanes;
}

/// counts[tile * kRadixDigits + digit] becomes the number of such keys; with kMany counts[1 + digit
/// * tiles + tile], and counts[0] = 0, so that prefix sums turn the counts into begins.
/// Bound: memory; a key is read once and counted by an atomic addition in shared memory.
/// Block: a tile per block, a thread per digit when the counts are written.
/// Layout: a warp reads 32 consecutive keys at a time, as RadixPlace says.
template <int kThreads, bool kMany>
__global__ void RadixCountKernel(const std::uint32_t* keys, std::int64_t count, int shift,
                                 std::int32_t* counts) {
  __shared__ std::int32_t tile_counts[kRadixDigits];
  tile_counts[threadIdx.x] = 0;
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kRadixItems; ++item) {
    const std::int64_t i = RadixPlace(item);
    if (i < count) atomicAdd(&tile_counts[(keys[i] >> shift) % kRadixDigits], 1);
  }
  __syncthreads();
  const std::int64_t digit = threadIdx.x, tile = blockIdx.x;
  const std::int64_t place = kMany ? 1 + digit * gridDim.x + tile : tile * kRadixDigits + digit;
  counts[place] = tile_counts[digit];
  if (kMany && digit == 0 && tile == 0) counts[0] = 0;
}

/// Where this tile's keys of the thread's digit begin, from the counts of few tiles.
__device__ inline std::int32_t RadixBegin(const std::int32_t* counts) {
  __shared__ std::int32_t shared[kRadixWarps];
  std::int32_t before = 0, all = 0;
#pragma unroll 16
  for (unsigned tile = 0; tile < gridDim.x; ++tile) {
    const std::int32_t tile_count = counts[tile * kRadixDigits + threadIdx.x];
    before += tile < blockIdx.x ? tile_count : 0;
    all += tile_count;
  }
  return BlockInclusiveSum<kRadixThreads>(all, shared) - all + before;
}

/// Moves the pairs of a tile. `sums` are the counts of RadixCountKernel, with kMany their prefix
/// sums.
/// Bound: memory; pairs are read in order and written to as many stretches as there are digits.
/// Block: a tile per block, a thread per digit for the begins. Lanes with equal digits are ranked
/// by a match within the warp, so that equal keys keep their order without atomics.
/// Layout: a warp reads 32 consecutive pairs at a time, as RadixPlace says.
template <int kThreads, bool kMany>
__global__ void RadixMoveKernel(const std::uint32_t* keys, const std::uint32_t* values,
                                std::int64_t count, int shift, const std::int32_t* sums,
                                std::uint32_t* moved_keys, std::uint32_t* moved_values) {
  __shared__ std::int32_t counts[kRadixWarps][kRadixDigits];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const unsigned lanes_before = (1u << lane) - 1;
  for (int w = 0; w < kRadixWarps; ++w) counts[w][threadIdx.x] = 0;
  __syncthreads();

  std::uint32_t key[kRadixItems];
  std::int32_t rank[kRadixItems];  // among the warp's keys of the same digit
#pragma unroll
  for (int item = 0; item < kRadixItems; ++item) {
    const std::int64_t i = RadixPlace(item);
    key[item] = i < count ? keys[i] : 0;
    const unsigned digit = i < count ? (key[item] >> shift) % kRadixDigits : kRadixDigits;
    const unsigned same = __match_any_sync(kWholeWarp, digit);
    const std::int32_t before = i < count ? counts[warp][digit] : 0;
    rank[item] = before + __popc(same & lanes_before);
    __syncwarp();
    if (i < count && (same & lanes_before) == 0) counts[warp][digit] = before + __popc(same);
    __syncwarp();
  }
  __syncthreads();
  std::int32_t begin = 0;
  if constexpr (kMany) {
    begin = sums[static_cast<std::int64_t>(threadIdx.x) * gridDim.x + blockIdx.x];
  } else {
    begin = RadixBegin(sums);
  }
  for (int w = 0; w < kRadixWarps; ++w) {
    const std::int32_t warp_count = counts[w][threadIdx.x];
    counts[w][threadIdx.x] = begin;
    begin += warp_count;
  }
  __syncthreads();
#pragma unroll
  for (int item = 0; item < kRadixItems; ++item) {
    const std::int64_t i = RadixPlace(item);
    if (i >= count) continue;
    const std::int32_t to = counts[warp][(key[item] >> shift) % kRadixDigits] + rank[item];
    moved_keys[to] = key[item];
    moved_values[to] = values[i];
  }
}

/// One round of the sort, from the arrays with index `from` to the other ones.
template <bool kMany>
CudaError LaunchRadixRound(const RadixSortBuffers& buffers, std::int64_t count, int shift, int from,
                           CudaStream stream) {
  const std::int64_t tiles = RadixTiles(count);
  std::int32_t* const counts = buffers.scratch;
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(RadixCountKernel<kRadixThreads, kMany>, tiles,
                                               kRadixThreads, stream, buffers.keys[from], count,
                                               shift, counts));
  if (kMany) {
    const std::int64_t begins = kRadixDigits * tiles + 1;
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(counts, begins, counts + begins, stream));
  }
  return LaunchBlocks(RadixMoveKernel<kRadixThreads, kMany>, tiles, kRadixThreads, stream,
                      buffers.keys[from], buffers.values[from], count, shift, counts,
                      buffers.keys[1 - from], buffers.values[1 - from]);
}

/// Sorts keys[0] and values[0] by the lowest `key_bits` bits of the keys, at most 2^31 - 1 pairs;
/// the result is in the arrays with index RadixSortResult(key_bits).
inline CudaError LaunchRadixSort(const RadixSortBuffers& buffers, std::int64_t count, int key_bits,
                                 CudaStream stream) {
  const std::int64_t tiles = RadixTiles(count);
  if (kRadixDigits * tiles + 1 > 2147483647) return cudaErrorInvalidValue;
  int from = 0;
  for (int shift = 0; shift < key_bits; shift += kRadixBits) {
    INTERLACER_CUDA_RETURN_IF_ERROR(
        tiles > kRadixFewTiles ? LaunchRadixRound<true>(buffers, count, shift, from, stream)
                               : LaunchRadixRound<false>(buffers, count, shift, from, stream));
    from = 1 - from;
  }
  return 0;
}

}  // namespace interlacer
