#include <algorithm>
#include <climits>

#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "knn/kernels/nearest_keys.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kWarps = kThreads / kWarpLanes;
/// A thread searches two rings away from the border; then a warp the cells within four and eight,
/// and then a block every point. So an isolated point cannot stall the search.
constexpr std::int64_t kThreadRows = 9;
constexpr std::int32_t kFirstWarpRing = 4;
constexpr std::int32_t kLastWarpRing = 8;
/// Blocks of the warps' searches, at most: some for every multiprocessor of a large GPU, which has
/// about 132.
constexpr std::int64_t kWarpBlocks = 8 * 132;
/// And of the searches among all points, which take few threads long: their loads wait for one
/// another.
constexpr std::int64_t kWideBlocks = 2 * 132;
constexpr int kWideThreads = 512;
constexpr int kWideWarps = kWideThreads / kWarpLanes;

struct Workspace {
  SortedPoint* points;          // [n]
  std::int32_t* cell_of_point;  // [n]; reused for the queries that warps left over
  std::int32_t* leftovers;      // [n] sorted places whose search threads left over
  std::int32_t* cell_begin;     // [cells + 1]; ends while points are filled in from the back
  std::int32_t* tile_sums;      // [tiles]
  std::int32_t* counts;         // [2] of what threads and warps left over
  std::size_t size_bytes;
};

Workspace Carve(void* base, const CellGrid& grid, std::int64_t n) {
  WorkspaceCutter cutter(base);
  const std::int64_t ends = grid.cell_count() + 1;
  Workspace w;
  w.points = cutter.Take<SortedPoint>(n);
  w.cell_of_point = cutter.Take<std::int32_t>(n);
  w.leftovers = cutter.Take<std::int32_t>(n);
  w.cell_begin = cutter.Take<std::int32_t>(ends);
  w.tile_sums = cutter.Take<std::int32_t>(PrefixSumScratchCount(ends));
  w.counts = cutter.Take<std::int32_t>(2);
  w.size_bytes = cutter.size_bytes();
  return w;
}

/// Bound: memory; a point is read once, followed by one atomic addition to its cell's count.
/// Block: a thread a point, nothing shared, so the size only has to fill whole warps.
/// Layout: cell_of_point follows the members' order, counts the order of cells.
__global__ void CountKernel(CellGrid grid, const float* positions, PointRanges members,
                            std::int32_t* cell_of_point, std::int32_t* counts) {
  const std::int64_t i = GlobalThread();
  if (i >= members.size()) return;
  const std::int32_t cell = CellOfPoint(grid, positions + 3 * members.at(i));
  cell_of_point[i] = cell;
  atomicAdd(&counts[cell], 1);
}

/// Fills every cell from its end; the order inside a cell depends on timing, the neighbours do not.
/// Bound: memory; scattered writes of 16 bytes and an atomic subtraction a point.
/// Block: a thread a point, nothing shared, so the size only has to fill whole warps.
/// Layout: a point and its index lie together, points of a cell one after another.
__global__ void FillKernel(const float* positions, PointRanges members,
                           const std::int32_t* cell_of_point, std::int32_t* cell_begin,
                           SortedPoint* points) {
  const std::int64_t i = GlobalThread();
  if (i >= members.size()) return;
  const std::int32_t place = atomicSub(&cell_begin[cell_of_point[i]], 1) - 1;
  const std::int64_t index = members.at(i);
  const float* const p = positions + 3 * index;
  points[place] = {p[0], p[1], p[2], static_cast<std::int32_t>(index)};
}

template <int kCapacity>
__device__ void LookAtCells(Best<kCapacity>& best, const SortedPoint& query, const CellGrid& grid,
                            const SortedPoint* points, const std::int32_t* cell_begin,
                            std::int32_t x_low, std::int32_t x_high, std::int32_t y,
                            std::int32_t z) {
  const std::int32_t row = CellIndex(grid, 0, y, z);
  const std::int32_t end = cell_begin[row + x_high + 1];
  for (std::int32_t p = cell_begin[row + x_low]; p < end; ++p) best.Look(query, points[p]);
}

/// Rings of cells around the query until no nearer point can exist; false if a thread's share of
/// rows ran out first.
template <int kCapacity>
__device__ bool SearchRings(Best<kCapacity>& best, const SortedPoint& query, const CellGrid& grid,
                            const SortedPoint* points, const std::int32_t* cell_begin) {
  const float query_m[3] = {query.x, query.y, query.z};
  std::int32_t center[3];
  for (int axis = 0; axis < 3; ++axis) center[axis] = CellOnAxis(grid, axis, query_m[axis]);
  CellBlock inner = {{0, 0, INT_MAX}, {-1, -1, -1}};  // holds no cell
  std::int64_t rows_met = 0;
  for (std::int32_t ring = 1; rows_met <= kThreadRows; ++ring) {
    const CellBlock block = BlockAround(grid, center, ring);
    for (std::int32_t z = block.low[2]; z <= block.high[2]; ++z) {
      for (std::int32_t y = block.low[1]; y <= block.high[1]; ++y) {
        ++rows_met;
        const bool new_row =
            z < inner.low[2] || z > inner.high[2] || y < inner.low[1] || y > inner.high[1];
        if (new_row) {
          LookAtCells(best, query, grid, points, cell_begin, block.low[0], block.high[0], y, z);
          continue;
        }
        if (block.low[0] < inner.low[0]) {
          LookAtCells(best, query, grid, points, cell_begin, block.low[0], inner.low[0] - 1, y, z);
        }
        if (block.high[0] > inner.high[0]) {
          LookAtCells(best, query, grid, points, cell_begin, inner.high[0] + 1, block.high[0], y,
                      z);
        }
      }
    }
    if (SearchIsDone(SearchedRadius(grid, block, query_m), best.worst_sq_dist())) return true;
    inner = block;
  }
  return false;
}

/// All cells within `ring`, by a warp, whose lanes end with the same list. Each lane looks up where
/// a row of cells begins and ends; then all lanes read neighbouring points of one row after
/// another.
template <int kCapacity>
__device__ bool SearchInWarp(Best<kCapacity>& best, const SortedPoint& query, const CellGrid& grid,
                             std::int32_t ring, const SortedPoint* points,
                             const std::int32_t* cell_begin) {
  const float query_m[3] = {query.x, query.y, query.z};
  std::int32_t center[3];
  for (int axis = 0; axis < 3; ++axis) center[axis] = CellOnAxis(grid, axis, query_m[axis]);
  const CellBlock block = BlockAround(grid, center, ring);
  const std::int32_t deep = block.high[1] - block.low[1] + 1;
  const std::int32_t rows = deep * (block.high[2] - block.low[2] + 1);
  const std::int32_t lane = static_cast<std::int32_t>(threadIdx.x) % kWarpLanes;
  for (std::int32_t first = 0; first < rows; first += kWarpLanes) {
    std::int32_t begin = 0, end = 0;
    if (const std::int32_t row = first + lane; row < rows) {
      const std::int32_t cells =
          CellIndex(grid, 0, block.low[1] + row % deep, block.low[2] + row / deep);
      begin = cell_begin[cells + block.low[0]];
      end = cell_begin[cells + block.high[0] + 1];
    }
    for (int r = 0; r < kWarpLanes; ++r) {
      const std::int32_t row_end = __shfl_sync(kWholeWarp, end, r);
      for (std::int32_t p = __shfl_sync(kWholeWarp, begin, r) + lane; p < row_end;
           p += kWarpLanes) {
        best.Look(query, points[p]);
      }
    }
  }
  best.MergeInWarp();
  return SearchIsDone(SearchedRadius(grid, block, query_m), best.worst_sq_dist());
}

/// Bound: reads of the cells around a query; its nearest so far stay in registers.
/// Block: a thread a query, in the order of cells, so that a block's queries read the same cells.
/// Layout: a row of cells along x is one range of points.
template <int kCapacity>
__global__ void QueryKernel(CellGrid grid, std::int64_t n, int out_degree,
                            const SortedPoint* points, const std::int32_t* cell_begin,
                            std::int32_t* neighbors, std::int32_t* leftovers,
                            std::int32_t* leftover_count) {
  const std::int64_t p = GlobalThread();
  if (p >= n) return;
  const SortedPoint query = points[p];
  Best<kCapacity> best(out_degree);
  if (!SearchRings(best, query, grid, points, cell_begin)) {
    leftovers[atomicAdd(leftover_count, 1)] = static_cast<std::int32_t>(p);
    return;
  }
  best.WriteTo(query.index, neighbors);
}

/// Searches that threads left over: a warp a query, from the start and with wider rings.
/// Bound: reads of the cells around a query; the lanes' lists are merged by shuffles.
/// Block: a fixed number of warps takes turns, since only the device knows how many queries came.
/// Layout: a row of cells along x is one range of points, of which lanes read neighbouring ones.
template <int kCapacity>
__global__ void WarpQueryKernel(CellGrid grid, int out_degree, const SortedPoint* points,
                                const std::int32_t* cell_begin, const std::int32_t* queries,
                                const std::int32_t* query_count, std::int32_t* neighbors,
                                std::int32_t* leftovers, std::int32_t* leftover_count) {
  const std::int64_t warps = static_cast<std::int64_t>(gridDim.x) * kWarps;
  for (std::int64_t q = GlobalWarp(); q < *query_count; q += warps) {
    const SortedPoint query = points[queries[q]];
    bool done = false;
    for (std::int32_t ring = kFirstWarpRing; ring <= kLastWarpRing && !done; ring *= 2) {
      Best<kCapacity> best(out_degree);
      done = SearchInWarp(best, query, grid, ring, points, cell_begin);
      if (done && threadIdx.x % kWarpLanes == 0) best.WriteTo(query.index, neighbors);
    }
    if (!done && threadIdx.x % kWarpLanes == 0) {
      leftovers[atomicAdd(leftover_count, 1)] = queries[q];
    }
  }
}

/// Searches that warps left over: a block a query, against every point.
/// Bound: the wait for one reading of all points; so blocks are wide and each thread loads several
/// points before it looks at the first.
/// Block: a fixed number of blocks takes turns; sixteen warps each bring a list to shared memory.
/// Layout: threads read neighbouring points, 16 bytes each.
template <int kCapacity>
__global__ void __launch_bounds__(kWideThreads)
    BlockQueryKernel(std::int64_t n, int out_degree, const SortedPoint* points,
                     const std::int32_t* queries, const std::int32_t* query_count,
                     std::int32_t* neighbors) {
  constexpr int kAhead = 4;
  __shared__ std::uint64_t shared_keys[kWideWarps][kCapacity];
  const int me = static_cast<int>(threadIdx.x);
  const int warp = me / kWarpLanes;
  for (std::int32_t q = static_cast<std::int32_t>(blockIdx.x); q < *query_count;
       q += static_cast<std::int32_t>(gridDim.x)) {
    const SortedPoint query = points[queries[q]];
    Best<kCapacity> best(out_degree);
    for (std::int64_t first = me; first < n; first += kAhead * kWideThreads) {
      SortedPoint ahead[kAhead];
#pragma unroll
      for (int a = 0; a < kAhead; ++a) {
        // Beyond the end the query itself, which is no candidate.
        const std::int64_t p = first + a * kWideThreads;
        ahead[a] = p < n ? points[p] : query;
      }
#pragma unroll
      for (int a = 0; a < kAhead; ++a) best.Look(query, ahead[a]);
    }
    best.MergeInWarp();
    if (me % kWarpLanes == 0) {
#pragma unroll
      for (int r = 0; r < kCapacity; ++r) shared_keys[warp][r] = best.keys[r];
    }
    __syncthreads();
    if (me == 0) {
      for (int w = 1; w < kWideWarps; ++w) {
        for (int r = 0; r < best.count; ++r) best.Insert(shared_keys[w][r]);
      }
      best.WriteTo(query.index, neighbors);
    }
    __syncthreads();
  }
}

template <int kCapacity>
CudaError LaunchQueries(const CellGrid& grid, std::int64_t n, int out_degree, const Workspace& w,
                        std::int32_t* neighbors, CudaStream stream) {
  std::int32_t* const lost = w.cell_of_point;
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(QueryKernel<kCapacity>, BlocksFor(n, kThreads),
                                               kThreads, stream, grid, n, out_degree, w.points,
                                               w.cell_begin, neighbors, w.leftovers, w.counts));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(WarpQueryKernel<kCapacity>, std::min(kWarpBlocks, BlocksFor(n, kWarps)),
                   kThreads, stream, grid, out_degree, w.points, w.cell_begin, w.leftovers,
                   w.counts, neighbors, lost, w.counts + 1));
  return LaunchBlocks(BlockQueryKernel<kCapacity>, std::min(kWideBlocks, n), kWideThreads, stream,
                      n, out_degree, w.points, lost, w.counts + 1, neighbors);
}

}  // namespace

std::size_t GridKnnWorkspaceBytes(const CellGrid& grid, std::int64_t n) {
  return Carve(nullptr, grid, n).size_bytes;
}

CudaError LaunchGridKnn(const CellGrid& grid, const float* positions_device,
                        const PointRanges& members, int out_degree, void* workspace_device,
                        std::int32_t* neighbors_device, CudaStream stream) {
  const std::int64_t n = members.size();
  if (n == 0) return 0;
  if (out_degree < 1 || out_degree > kMaxCudaNeighbors || out_degree >= n) {
    return cudaErrorInvalidValue;
  }
  const Workspace w = Carve(workspace_device, grid, n);
  const std::int64_t ends = grid.cell_count() + 1;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(
      w.cell_begin, 0, static_cast<std::size_t>(ends) * sizeof(std::int32_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(w.counts, 0, 2 * sizeof(std::int32_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(CountKernel, BlocksFor(n, kThreads), kThreads,
                                               stream, grid, positions_device, members,
                                               w.cell_of_point, w.cell_begin));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(w.cell_begin, ends, w.tile_sums, stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(FillKernel, BlocksFor(n, kThreads), kThreads, stream,
                                               positions_device, members, w.cell_of_point,
                                               w.cell_begin, w.points));
  switch (out_degree) {
    case 1:
      return LaunchQueries<1>(grid, n, out_degree, w, neighbors_device, stream);
    case 2:
      return LaunchQueries<2>(grid, n, out_degree, w, neighbors_device, stream);
    case 3:
      return LaunchQueries<3>(grid, n, out_degree, w, neighbors_device, stream);
    case kMostExactNeighbors:
      return LaunchQueries<kMostExactNeighbors>(grid, n, out_degree, w, neighbors_device, stream);
    default:
      return LaunchQueries<kMaxCudaNeighbors>(grid, n, out_degree, w, neighbors_device, stream);
  }
}

}  // namespace interlacer
