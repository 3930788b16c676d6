#include "common/kernels/block_memory.h"
#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "knn/kernels/walk_tiles_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;
constexpr int kMaxEntries = static_cast<int>(kWalkTileRoots * kMaxWalkRowSize);
constexpr int kMaxEntriesOfAThread = (kMaxEntries + kThreads - 1) / kThreads;
constexpr int kMinSlotBits = 8;
constexpr int kMaxSlotBits = 13;
constexpr std::uint32_t kEmptySlot = 0xFFFFFFFFu;
static_assert(kMaxEntries < 1 << kMaxSlotBits, "a slot stays free, so that a search ends");
static_assert(kMaxEntriesOfAThread <= 32, "a bit for each");

struct TileShared {
  std::uint32_t nodes[1 << kMaxSlotBits];
  /// For each node the index of its first entry, later its place among the tile's rows.
  std::int32_t places[1 << kMaxSlotBits];
};

/// A hash table with linear probing; the slot of a node depends on timing, the final content of
/// that slot does not.
struct NodeTable {
  std::uint32_t* nodes;
  int bits;

  __device__ std::uint32_t FirstSlot(std::uint32_t node) const {
    return node * 2654435769u >> (32 - bits);
  }
  __device__ std::uint32_t NextSlot(std::uint32_t slot) const {
    return (slot + 1) & ((1u << bits) - 1);
  }
  __device__ std::uint32_t Insert(std::uint32_t node) const {
    std::uint32_t slot = FirstSlot(node);
    while (true) {
      const std::uint32_t found = atomicCAS(&nodes[slot], kEmptySlot, node);
      if (found == kEmptySlot || found == node) return slot;
      slot = NextSlot(slot);
    }
  }
  __device__ std::uint32_t Find(std::uint32_t node) const {
    std::uint32_t slot = FirstSlot(node);
    while (nodes[slot] != node) slot = NextSlot(slot);
    return slot;
  }
};

/// Distinct end nodes of a tile of roots, in the order of their first entry.
/// Bound: latency of atomics and probes in shared memory; entries are read from global memory once
/// for each of the passes.
/// Block: a tile per block, because the hash table lies in its shared memory; the table is as small
/// as the entries allow, so that clearing it is cheap.
/// Layout: rows and places of a tile begin where its entries begin.
__global__ void __launch_bounds__(kThreads)
    WalkTilesKernel(std::int64_t n, const std::int32_t* offsets, const std::uint32_t* entries,
                    WalkTilesDevice tiles) {
  __shared__ std::int32_t shared[kThreads];
  TileShared& table = *LaunchedShared<TileShared>();
  const std::int64_t first_root = blockIdx.x * kWalkTileRoots;
  const std::int64_t last_root = first_root + kWalkTileRoots < n ? first_root + kWalkTileRoots : n;
  const std::int32_t begin = offsets[first_root];
  const int count = offsets[last_root] - begin;
  const int me = static_cast<int>(threadIdx.x);
  int bits = kMinSlotBits;
  while (bits < kMaxSlotBits && 1 << bits < 2 * count) ++bits;
  const NodeTable node_table = {table.nodes, bits};
  for (int slot = me; slot < 1 << bits; slot += kThreads) {
    table.nodes[slot] = kEmptySlot;
    table.places[slot] = kMaxEntries;
  }
  __syncthreads();
  for (int e = me; e < count; e += kThreads) {
    atomicMin(&table.places[node_table.Insert(entries[begin + e] & kWalkNodeMask)], e);
  }
  __syncthreads();
  // From here on a thread has consecutive entries, so that sums over threads follow the entries.
  const int share = (count + kThreads - 1) / kThreads;
  const int my_begin = me * share < count ? me * share : count;
  const int my_end = my_begin + share < count ? my_begin + share : count;
  unsigned is_first = 0;
  for (int e = my_begin; e < my_end; ++e) {
    const std::uint32_t slot = node_table.Find(entries[begin + e] & kWalkNodeMask);
    is_first |= unsigned{table.places[slot] == e} << (e - my_begin);
  }
  const int through = BlockInclusiveSum<kThreads>(__popc(is_first), shared);
  int place = through - __popc(is_first);
  for (int e = my_begin; e < my_end; ++e) {
    if ((is_first >> (e - my_begin) & 1u) == 0) continue;
    const std::uint32_t node = entries[begin + e] & kWalkNodeMask;
    tiles.rows[begin + place] = static_cast<std::int32_t>(node);
    table.places[node_table.Find(node)] = place++;
  }
  if (me == kThreads - 1) tiles.row_counts[blockIdx.x] = through;
  __syncthreads();
  for (int e = me; e < count; e += kThreads) {
    const std::uint32_t slot = node_table.Find(entries[begin + e] & kWalkNodeMask);
    tiles.places[begin + e] = static_cast<std::uint16_t>(table.places[slot]);
  }
}

}  // namespace

int LaunchWalkTiles(std::int64_t n, const std::int32_t* offsets_device,
                    const std::uint32_t* entries_device, const WalkTilesDevice& tiles,
                    void* stream) {
  if (n < 0) return static_cast<int>(cudaErrorInvalidValue);
  return LaunchBlocks(WalkTilesKernel, WalkTileCount(n),
                      BlockShape{kThreads, std::int64_t{sizeof(TileShared)}},
                      static_cast<cudaStream_t>(stream), n, offsets_device, entries_device, tiles);
}

}  // namespace interlacer
