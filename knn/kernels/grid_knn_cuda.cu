#include <climits>

#include "common/kernels/device_buffer.h"
#include "common/kernels/launch.h"
#include "knn/kernels/grid_knn_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kScanThreads = 256;
constexpr int kScanItems = 8;  // a thread
constexpr int kScanTile = kScanThreads * kScanItems;
constexpr int kLeftoverBlocks = 264;

/// A point and its original index in one 16-byte word.
struct __align__(16) SortedPoint {
  float x, y, z;
  std::int32_t index;
};

struct Workspace {
  SortedPoint* points;          // [n]
  std::int32_t* cell_of_point;  // [n]
  std::int32_t* leftovers;      // [n] sorted places whose search gave up on rings
  std::int32_t* cell_begin;     // [cells + 1]; ends while points are filled in from the back
  std::int32_t* tile_sums;      // [tiles]
  std::int32_t* leftover_count;
  std::size_t size_bytes;
};

std::int64_t TileCount(std::int64_t values) { return (values + kScanTile - 1) / kScanTile; }

Workspace Carve(void* base, const CellGrid& grid, std::int64_t n) {
  char* const begin = static_cast<char*>(base);
  std::size_t used = 0;
  const auto take = [&](std::int64_t count, std::size_t item_bytes) {
    char* const at = begin + used;
    used += (static_cast<std::size_t>(count) * item_bytes + 255) / 256 * 256;
    return static_cast<void*>(at);
  };
  const std::int64_t ends = grid.cell_count() + 1;
  Workspace w;
  w.points = static_cast<SortedPoint*>(take(n, sizeof(SortedPoint)));
  w.cell_of_point = static_cast<std::int32_t*>(take(n, sizeof(std::int32_t)));
  w.leftovers = static_cast<std::int32_t*>(take(n, sizeof(std::int32_t)));
  w.cell_begin = static_cast<std::int32_t*>(take(ends, sizeof(std::int32_t)));
  w.tile_sums = static_cast<std::int32_t*>(take(TileCount(ends), sizeof(std::int32_t)));
  w.leftover_count = static_cast<std::int32_t*>(take(1, sizeof(std::int32_t)));
  w.size_bytes = used;
  return w;
}

__global__ void CountKernel(CellGrid grid, const float* positions, std::int64_t n,
                            std::int32_t* cell_of_point, std::int32_t* counts) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::int32_t cell = CellOfPoint(grid, positions + 3 * i);
  cell_of_point[i] = cell;
  atomicAdd(&counts[cell], 1);
}

/// Inclusive sums of the values that the threads of a block hold; `shared` has kScanThreads places.
__device__ std::int32_t BlockInclusiveSum(std::int32_t value, std::int32_t* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int step = 1; step < kScanThreads; step *= 2) {
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
__global__ void ScanTilesKernel(std::int32_t* values, std::int64_t count, std::int32_t* tile_sums) {
  __shared__ std::int32_t shared[kScanThreads];
  const std::int64_t first =
      static_cast<std::int64_t>(blockIdx.x) * kScanTile + threadIdx.x * kScanItems;
  std::int32_t items[kScanItems];
  std::int32_t sum = 0;
  for (int s = 0; s < kScanItems; ++s) {
    items[s] = first + s < count ? values[first + s] : 0;
    sum += items[s];
  }
  const std::int32_t through = BlockInclusiveSum(sum, shared);
  std::int32_t running = through - sum;
  for (int s = 0; s < kScanItems; ++s) {
    running += items[s];
    if (first + s < count) values[first + s] = running;
  }
  if (threadIdx.x == kScanThreads - 1) tile_sums[blockIdx.x] = through;
}

/// Turns the tiles' totals into the sums of all tiles before; one block.
__global__ void ScanTotalsKernel(std::int32_t* tile_sums, std::int64_t tiles) {
  __shared__ std::int32_t shared[kScanThreads];
  __shared__ std::int32_t carry;
  if (threadIdx.x == 0) carry = 0;
  __syncthreads();
  for (std::int64_t begin = 0; begin < tiles; begin += kScanThreads) {
    const std::int64_t at = begin + threadIdx.x;
    const std::int32_t value = at < tiles ? tile_sums[at] : 0;
    const std::int32_t through = BlockInclusiveSum(value, shared);
    const std::int32_t before = carry;
    __syncthreads();
    if (at < tiles) tile_sums[at] = before + through - value;
    if (threadIdx.x == kScanThreads - 1) carry = before + through;
    __syncthreads();
  }
}

__global__ void AddTotalsKernel(std::int32_t* values, std::int64_t count,
                                const std::int32_t* tile_sums) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) values[i] += tile_sums[i / kScanTile];
}

/// Fills every cell from its end; the order inside a cell depends on timing, the neighbours do not.
__global__ void FillKernel(const float* positions, std::int64_t n,
                           const std::int32_t* cell_of_point, std::int32_t* cell_begin,
                           SortedPoint* points) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const std::int32_t place = atomicSub(&cell_begin[cell_of_point[i]], 1) - 1;
  points[place] = {positions[3 * i], positions[3 * i + 1], positions[3 * i + 2],
                   static_cast<std::int32_t>(i)};
}

/// The best candidates so far, sorted by (squared distance, index). kCapacity >= count.
template <int kCapacity>
struct Best {
  float sq_dist[kCapacity];
  std::int32_t index[kCapacity];
  int count;

  __device__ explicit Best(int wanted) : count(wanted) { Reset(); }

  __device__ void Reset() {
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) {
      sq_dist[r] = __int_as_float(0x7f800000);  // +infinity
      index[r] = INT_MAX;
    }
  }

  __device__ static bool Before(float d, std::int32_t i, float other_d, std::int32_t other_i) {
    return d < other_d || (d == other_d && i < other_i);
  }

  __device__ float worst_sq_dist() const { return sq_dist[count - 1]; }

  __device__ void Insert(float d, std::int32_t i) {
    if (!Before(d, i, sq_dist[count - 1], index[count - 1])) return;
    int r = count - 1;
    for (; r > 0 && Before(d, i, sq_dist[r - 1], index[r - 1]); --r) {
      sq_dist[r] = sq_dist[r - 1];
      index[r] = index[r - 1];
    }
    sq_dist[r] = d;
    index[r] = i;
  }

  __device__ void Look(const SortedPoint& query, const SortedPoint& other) {
    if (other.index == query.index) return;
    const float dx = __fsub_rn(other.x, query.x);
    const float dy = __fsub_rn(other.y, query.y);
    const float dz = __fsub_rn(other.z, query.z);
    Insert(__fmaf_rn(dz, dz, __fmaf_rn(dy, dy, __fmul_rn(dx, dx))), other.index);
  }
};

template <int kCapacity>
__device__ void LookAtCells(Best<kCapacity>& best, const SortedPoint& query, const CellGrid& grid,
                            const SortedPoint* points, const std::int32_t* cell_begin,
                            std::int32_t x_low, std::int32_t x_high, std::int32_t y,
                            std::int32_t z) {
  const std::int32_t row = CellIndex(grid, 0, y, z);
  const std::int32_t end = cell_begin[row + x_high + 1];
  for (std::int32_t p = cell_begin[row + x_low]; p < end; ++p) best.Look(query, points[p]);
}

/// Rings of cells around the query until no nearer point can exist; false if the budget of rows
/// ran out first.
template <int kCapacity>
__device__ bool SearchRings(Best<kCapacity>& best, const SortedPoint& query, const CellGrid& grid,
                            std::int64_t n, const SortedPoint* points,
                            const std::int32_t* cell_begin) {
  const float query_m[3] = {query.x, query.y, query.z};
  std::int32_t center[3];
  for (int axis = 0; axis < 3; ++axis) center[axis] = CellOnAxis(grid, axis, query_m[axis]);
  CellBlock inner = {{0, 0, INT_MAX}, {-1, -1, -1}};  // holds no cell
  std::int64_t rows_met = 0;
  for (std::int32_t ring = 1; rows_met <= RowBudget(n); ++ring) {
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

template <int kCapacity>
__global__ void QueryKernel(CellGrid grid, std::int64_t n, int out_degree,
                            const SortedPoint* points, const std::int32_t* cell_begin,
                            std::int32_t* neighbors, std::int32_t* leftovers,
                            std::int32_t* leftover_count) {
  const std::int64_t p = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (p >= n) return;
  const SortedPoint query = points[p];
  Best<kCapacity> best(out_degree);
  if (!SearchRings(best, query, grid, n, points, cell_begin)) {
    leftovers[atomicAdd(leftover_count, 1)] = static_cast<std::int32_t>(p);
    return;
  }
  std::int32_t* row = neighbors + static_cast<std::int64_t>(query.index) * out_degree;
  for (int r = 0; r < out_degree; ++r) row[r] = best.index[r];
}

/// Every point against every leftover query: a block a query, its threads' lists merged pairwise.
template <int kCapacity>
__global__ void LeftoverKernel(std::int64_t n, int out_degree, const SortedPoint* points,
                               const std::int32_t* leftovers, const std::int32_t* leftover_count,
                               std::int32_t* neighbors) {
  __shared__ float shared_sq_dist[kThreads][kCapacity];
  __shared__ std::int32_t shared_index[kThreads][kCapacity];
  const int me = static_cast<int>(threadIdx.x);
  for (std::int32_t l = static_cast<std::int32_t>(blockIdx.x); l < *leftover_count;
       l += static_cast<std::int32_t>(gridDim.x)) {
    const SortedPoint query = points[leftovers[l]];
    Best<kCapacity> best(out_degree);
    for (std::int64_t p = me; p < n; p += kThreads) best.Look(query, points[p]);
    for (int half = kThreads / 2; half > 0; half /= 2) {
      for (int r = 0; r < out_degree; ++r) {
        shared_sq_dist[me][r] = best.sq_dist[r];
        shared_index[me][r] = best.index[r];
      }
      __syncthreads();
      if (me < half) {
        for (int r = 0; r < out_degree; ++r) {
          best.Insert(shared_sq_dist[me + half][r], shared_index[me + half][r]);
        }
      }
      __syncthreads();
    }
    if (me == 0) {
      std::int32_t* row = neighbors + static_cast<std::int64_t>(query.index) * out_degree;
      for (int r = 0; r < out_degree; ++r) row[r] = best.index[r];
    }
  }
}

template <int kCapacity>
int LaunchQueries(const CellGrid& grid, std::int64_t n, int out_degree, const Workspace& w,
                  std::int32_t* neighbors, cudaStream_t stream) {
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(QueryKernel<kCapacity>, BlocksFor(n, kThreads), kThreads, stream, grid, n,
                   out_degree, w.points, w.cell_begin, neighbors, w.leftovers, w.leftover_count));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(LeftoverKernel<kCapacity>, kLeftoverBlocks, kThreads,
                                               stream, n, out_degree, w.points, w.leftovers,
                                               w.leftover_count, neighbors));
  return 0;
}

}  // namespace

std::size_t GridKnnWorkspaceBytes(const CellGrid& grid, std::int64_t n) {
  return Carve(nullptr, grid, n).size_bytes;
}

int LaunchGridKnn(const CellGrid& grid, const float* positions_device, std::int64_t n,
                  int out_degree, void* workspace_device, std::int32_t* neighbors_device,
                  void* stream_handle) {
  if (n == 0) return 0;
  if (out_degree < 1 || out_degree > kMaxCudaNeighbors || out_degree >= n) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const Workspace w = Carve(workspace_device, grid, n);
  const std::int64_t ends = grid.cell_count() + 1;
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemsetAsync(
      w.cell_begin, 0, static_cast<std::size_t>(ends) * sizeof(std::int32_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(w.leftover_count, 0, sizeof(std::int32_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(CountKernel, BlocksFor(n, kThreads), kThreads,
                                               stream, grid, positions_device, n, w.cell_of_point,
                                               w.cell_begin));
  const std::int64_t tiles = TileCount(ends);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(ScanTilesKernel, tiles, kScanThreads, stream, w.cell_begin, ends, w.tile_sums));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(ScanTotalsKernel, 1, kScanThreads, stream, w.tile_sums, tiles));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(AddTotalsKernel, BlocksFor(ends, kThreads), kThreads,
                                               stream, w.cell_begin, ends, w.tile_sums));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(FillKernel, BlocksFor(n, kThreads), kThreads, stream,
                                               positions_device, n, w.cell_of_point, w.cell_begin,
                                               w.points));
  if (out_degree <= 4) {
    return LaunchQueries<4>(grid, n, out_degree, w, neighbors_device, stream);
  }
  return LaunchQueries<kMaxCudaNeighbors>(grid, n, out_degree, w, neighbors_device, stream);
}

int GridKnnFromHost(const CellGrid& grid, const float* positions_m, std::int64_t n, int out_degree,
                    std::int32_t* neighbors) {
  if (n == 0) return 0;
  const std::size_t position_bytes = static_cast<std::size_t>(3 * n) * sizeof(float);
  const std::size_t neighbor_bytes =
      static_cast<std::size_t>(n * out_degree) * sizeof(std::int32_t);
  DeviceBuffer positions_device;
  DeviceBuffer neighbors_device;
  DeviceBuffer workspace;
  DeviceStream stream;
  INTERLACER_CUDA_RETURN_IF_ERROR(stream.Create());
  INTERLACER_CUDA_RETURN_IF_ERROR(positions_device.Allocate(position_bytes));
  INTERLACER_CUDA_RETURN_IF_ERROR(neighbors_device.Allocate(neighbor_bytes));
  INTERLACER_CUDA_RETURN_IF_ERROR(workspace.Allocate(GridKnnWorkspaceBytes(grid, n)));
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(positions_device.as<float>(), positions_m,
                                                  position_bytes, cudaMemcpyHostToDevice,
                                                  stream.get()));
  if (const int error =
          LaunchGridKnn(grid, positions_device.as<float>(), n, out_degree, workspace.as<void>(),
                        neighbors_device.as<std::int32_t>(), stream.get());
      error != 0) {
    return error;
  }
  INTERLACER_CUDA_RETURN_IF_ERROR(cudaMemcpyAsync(neighbors, neighbors_device.as<std::int32_t>(),
                                                  neighbor_bytes, cudaMemcpyDeviceToHost,
                                                  stream.get()));
  return static_cast<int>(cudaStreamSynchronize(stream.get()));
}

int CudaDeviceCount() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    (void)cudaGetLastError();  // no driver is an answer, not an error to report later
    return 0;
  }
  return count;
}

const char* CudaErrorText(int error) { return cudaGetErrorString(static_cast<cudaError_t>(error)); }

}  // namespace interlacer
