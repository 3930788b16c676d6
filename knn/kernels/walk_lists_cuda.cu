#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "knn/kernels/walk_lists_cuda.h"
#include "knn/kernels/walk_merge.h"

namespace interlacer {
namespace {

// A thread merges the sorted lists of a whole row: a warp that matched 40 pairs in registers would
// spend some 500 instructions on a root, the merge some 15.
constexpr int kThreads = 128;
constexpr int kLongColumnThreads = 256;
constexpr int kLongColumnBlocks = 264;
/// A column up to this size is sorted by comparing all pairs, a longer one by reading all rows.
constexpr int kShortColumn = 512;
constexpr std::int64_t kMaxNodes = 1 << kWalkCodeShift;

struct ListsWorkspace {
  std::uint32_t* two_hops;  // [n, kTwoHopStride]
  std::int32_t* tile_sums;
  std::size_t size_bytes;
};

ListsWorkspace CarveLists(void* base, std::int64_t n) {
  WorkspaceCutter cutter(base);
  ListsWorkspace w;
  w.two_hops = cutter.Take<std::uint32_t>(n * kTwoHopStride);
  w.tile_sums = cutter.Take<std::int32_t>(PrefixSumScratchCount(n + 1));
  w.size_bytes = cutter.size_bytes();
  return w;
}

/// An entry in a column, still in the order of arrival.
struct ColumnEntry {
  std::int32_t root;
  std::int32_t entry;
};

struct TransposeWorkspace {
  ColumnEntry* arrivals;       // [n * kMaxWalkRowSize]
  std::int32_t* long_columns;  // [n]
  std::int32_t* long_column_count;
  std::int32_t* tile_sums;
  std::size_t size_bytes;
};

TransposeWorkspace CarveTranspose(void* base, std::int64_t n) {
  WorkspaceCutter cutter(base);
  TransposeWorkspace w;
  w.arrivals = cutter.Take<ColumnEntry>(n * kMaxWalkRowSize);
  w.long_columns = cutter.Take<std::int32_t>(n);
  w.long_column_count = cutter.Take<std::int32_t>(1);
  w.tile_sums = cutter.Take<std::int32_t>(PrefixSumScratchCount(n + 1));
  w.size_bytes = cutter.size_bytes();
  return w;
}

/// Lists of up to two hops of every node.
/// Bound: latency of dependent reads; a merge step needs the word before it.
/// Block: a thread per node, nothing shared, so the size only has to fill whole warps.
/// Layout: two_hops has a fixed stride, so that lists are written without knowing their sizes.
__global__ void TwoHopKernel(WalkGraphView graph, std::int64_t n, std::uint32_t* two_hops) {
  const std::int64_t i = GlobalThread();
  if (i < n) MergeTwoHopList(graph, i, two_hops + i * kTwoHopStride);
}

/// Sizes of rows at offsets[i + 1], where the prefix sum turns them into ends.
/// Bound: latency of dependent reads; three lists of neighbours are merged and nothing but the size
/// is written.
/// Block: a thread per root, as in TwoHopKernel.
/// Layout: two_hops as TwoHopKernel writes it.
__global__ void RowSizeKernel(WalkGraphView graph, const std::uint32_t* two_hops, std::int64_t n,
                              std::int32_t* offsets) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  if (i == 0) offsets[0] = 0;
  offsets[i + 1] = MergeThreeHopRow(graph, two_hops, i, [](int, std::uint32_t, std::uint32_t) {});
}

/// Merges every row a second time, now that its place is known, so that no rows of fixed stride
/// have to be stored and moved together.
/// Bound: latency of dependent reads, and scattered writes of rows.
/// Block: a thread per root, as in TwoHopKernel.
/// Layout: rows one after another, each ordered by node.
__global__ void RowEntriesKernel(WalkGraphView graph, const std::uint32_t* two_hops, std::int64_t n,
                                 const std::int32_t* offsets, std::uint32_t* entries) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  std::uint32_t* const row = entries + offsets[i];
  MergeThreeHopRow(graph, two_hops, i, [row](int place, std::uint32_t node, std::uint32_t code) {
    // The end of the list would lie where the next row begins.
    if (code != 0) row[place] = node | code << kWalkCodeShift;
  });
}

/// Number of entries of every end node.
/// Bound: atomic additions in global memory, one per entry.
/// Block: a thread per root, nothing shared.
/// Layout: rows one after another; counts lie by end node, so that additions are scattered.
__global__ void ColumnSizeKernel(std::int64_t n, const std::int32_t* offsets,
                                 const std::uint32_t* entries, std::int32_t* sizes) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  for (std::int32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
    atomicAdd(&sizes[entries[e] & kWalkNodeMask], 1);
  }
}

/// Fills every column from its end, in any order; `ends` become beginnings.
/// Bound: an atomic subtraction and a scattered write of 8 bytes per entry.
/// Block: a thread per root, nothing shared.
/// Layout: root and index of an entry side by side, so that a single write stores both.
__global__ void ArriveKernel(std::int64_t n, const std::int32_t* offsets,
                             const std::uint32_t* entries, std::int32_t* ends,
                             ColumnEntry* arrivals) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  for (std::int32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
    const std::int32_t place = atomicSub(&ends[entries[e] & kWalkNodeMask], 1) - 1;
    arrivals[place] = {static_cast<std::int32_t>(i), e};
  }
}

/// Sorts every column: an entry's place is the number of entries before it. Entries ascend with
/// roots.
/// Bound: reads of the column from cache, as many as the square of its length.
/// Block: a warp per column, a lane per entry; all lanes read the same entry at a time.
/// Layout: columns one after another, the entries of each contiguous.
__global__ void SortColumnsKernel(std::int64_t n, const ColumnEntry* arrivals,
                                  TransposedWalksDevice transposed, std::int32_t* long_columns,
                                  std::int32_t* long_column_count) {
  const std::int64_t j = GlobalWarp();
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  if (j >= n) return;
  const std::int32_t begin = transposed.offsets[j];
  const std::int32_t size = transposed.offsets[j + 1] - begin;
  if (size > kShortColumn) {
    if (lane == 0) long_columns[atomicAdd(long_column_count, 1)] = static_cast<std::int32_t>(j);
    return;
  }
  for (std::int32_t t = lane; t < size; t += kWarpLanes) {
    const ColumnEntry mine = arrivals[begin + t];
    std::int32_t place = begin;
    for (std::int32_t s = 0; s < size; ++s) place += arrivals[begin + s].entry < mine.entry;
    transposed.roots[place] = mine.root;
    transposed.entry_index[place] = mine.entry;
  }
}

/// Place of `node` in a row that is ordered by node, or -1.
__device__ std::int32_t FindNode(const std::uint32_t* entries, std::int32_t begin, std::int32_t end,
                                 std::uint32_t node) {
  while (begin < end) {
    const std::int32_t middle = begin + (end - begin) / 2;
    const std::uint32_t found = entries[middle] & kWalkNodeMask;
    if (found == node) return middle;
    if (found < node) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return -1;
}

/// Rebuilds columns longer than kShortColumn: looks for the node in every row, in order.
/// Bound: a binary search per row for each such column; reads of all rows.
/// Block: a fixed number of blocks takes turns, since only the device knows how many columns are
/// long; a thread per row, and block-wide sums keep the order of rows.
/// Layout: rows one after another, each ordered by node, so that it can be searched.
__global__ void LongColumnsKernel(std::int64_t n, const std::int32_t* offsets,
                                  const std::uint32_t* entries, const std::int32_t* long_columns,
                                  const std::int32_t* long_column_count,
                                  TransposedWalksDevice transposed) {
  __shared__ std::int32_t shared[kLongColumnThreads];
  for (std::int32_t l = static_cast<std::int32_t>(blockIdx.x); l < *long_column_count;
       l += static_cast<std::int32_t>(gridDim.x)) {
    const std::int32_t j = long_columns[l];
    std::int32_t place = transposed.offsets[j];
    for (std::int64_t first = 0; first < n; first += kLongColumnThreads) {
      const std::int64_t i = first + threadIdx.x;
      const std::int32_t entry =
          i < n ? FindNode(entries, offsets[i], offsets[i + 1], static_cast<std::uint32_t>(j)) : -1;
      const std::int32_t through = BlockInclusiveSum<kLongColumnThreads>(entry >= 0, shared);
      if (entry >= 0) {
        transposed.roots[place + through - 1] = static_cast<std::int32_t>(i);
        transposed.entry_index[place + through - 1] = entry;
      }
      shared[threadIdx.x] = through;
      __syncthreads();
      place += shared[kLongColumnThreads - 1];
      __syncthreads();
    }
  }
}

}  // namespace

std::size_t WalkListsWorkspaceBytes(std::int64_t n) { return CarveLists(nullptr, n).size_bytes; }

CudaError LaunchWalkLists(const WalkGraphView& graph, std::int64_t n, void* workspace_device,
                          std::int32_t* offsets_device, std::uint32_t* entries_device,
                          CudaStream stream) {
  if (n < 0 || n > kMaxNodes || graph.degree < 0 || graph.degree > kMaxWalkDegree) {
    return cudaErrorInvalidValue;
  }
  if (n == 0) {
    return TakeError(cudaMemsetAsync(offsets_device, 0, sizeof(std::int32_t), stream));
  }
  const ListsWorkspace w = CarveLists(workspace_device, n);
  const std::int64_t blocks = BlocksFor(n, kThreads);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(TwoHopKernel, blocks, kThreads, stream, graph, n, w.two_hops));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(RowSizeKernel, blocks, kThreads, stream, graph, w.two_hops, n, offsets_device));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(offsets_device, n + 1, w.tile_sums, stream));
  return LaunchBlocks(RowEntriesKernel, blocks, kThreads, stream, graph, w.two_hops, n,
                      offsets_device, entries_device);
}

std::size_t TransposeWalkListsWorkspaceBytes(std::int64_t n) {
  return CarveTranspose(nullptr, n).size_bytes;
}

CudaError LaunchTransposeWalkLists(std::int64_t n, const std::int32_t* offsets_device,
                                   const std::uint32_t* entries_device, void* workspace_device,
                                   const TransposedWalksDevice& transposed, CudaStream stream) {
  if (n < 0 || n > kMaxNodes) return cudaErrorInvalidValue;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(
      transposed.offsets, 0, static_cast<std::size_t>(n + 1) * sizeof(std::int32_t), stream));
  if (n == 0) return 0;
  const TransposeWorkspace w = CarveTranspose(workspace_device, n);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(w.long_column_count, 0, sizeof(std::int32_t), stream));
  const std::int64_t blocks = BlocksFor(n, kThreads);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(ColumnSizeKernel, blocks, kThreads, stream, n,
                                               offsets_device, entries_device, transposed.offsets));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(transposed.offsets, n + 1, w.tile_sums, stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(ArriveKernel, blocks, kThreads, stream, n,
                                               offsets_device, entries_device, transposed.offsets,
                                               w.arrivals));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(SortColumnsKernel, BlocksFor(n * kWarpLanes, kThreads), kThreads, stream, n,
                   w.arrivals, transposed, w.long_columns, w.long_column_count));
  return LaunchBlocks(LongColumnsKernel, kLongColumnBlocks, kLongColumnThreads, stream, n,
                      offsets_device, entries_device, w.long_columns, w.long_column_count,
                      transposed);
}

}  // namespace interlacer
