#include <climits>
#include <cmath>

#include "common/kernels/device_buffer.h"
#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "knn/kernels/grid_knn_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
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

Workspace Carve(void* base, const CellGrid& grid, std::int64_t n) {
  WorkspaceCutter cutter(base);
  const std::int64_t ends = grid.cell_count() + 1;
  Workspace w;
  w.points = cutter.Take<SortedPoint>(n);
  w.cell_of_point = cutter.Take<std::int32_t>(n);
  w.leftovers = cutter.Take<std::int32_t>(n);
  w.cell_begin = cutter.Take<std::int32_t>(ends);
  w.tile_sums = cutter.Take<std::int32_t>(PrefixSumScratchCount(ends));
  w.leftover_count = cutter.Take<std::int32_t>(1);
  w.size_bytes = cutter.size_bytes();
  return w;
}

__global__ void CountKernel(CellGrid grid, const float* positions, std::int64_t n,
                            std::int32_t* cell_of_point, std::int32_t* counts) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  const std::int32_t cell = CellOfPoint(grid, positions + 3 * i);
  cell_of_point[i] = cell;
  atomicAdd(&counts[cell], 1);
}

/// Fills every cell from its end; the order inside a cell depends on timing, the neighbours do not.
__global__ void FillKernel(const float* positions, std::int64_t n,
                           const std::int32_t* cell_of_point, std::int32_t* cell_begin,
                           SortedPoint* points) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  const std::int32_t place = atomicSub(&cell_begin[cell_of_point[i]], 1) - 1;
  points[place] = {positions[3 * i], positions[3 * i + 1], positions[3 * i + 2],
                   static_cast<std::int32_t>(i)};
}

/// The best candidates so far, in registers. A key sorts as (squared distance, index).
template <int kCapacity>
struct Best {
  std::uint64_t keys[kCapacity];
  std::uint64_t worst;  ///< of the `count` that are wanted
  int count;

  __device__ explicit Best(int wanted) : worst(Key(INFINITY, INT_MAX)), count(wanted) {
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) keys[r] = worst;
  }

  __device__ static std::uint64_t Key(float sq_dist, std::int32_t index) {
    return static_cast<std::uint64_t>(__float_as_uint(sq_dist)) << 32 |
           static_cast<std::uint32_t>(index);
  }

  __device__ float worst_sq_dist() const {
    return __uint_as_float(static_cast<unsigned>(worst >> 32));
  }

  /// Key r becomes min(key r, max(new key, key r - 1)).
  __device__ void Insert(std::uint64_t key) {
    if (key >= worst) return;
#pragma unroll
    for (int r = kCapacity - 1; r >= 0; --r) {
      const std::uint64_t before = r > 0 ? keys[r > 0 ? r - 1 : 0] : 0;
      const std::uint64_t larger = key > before ? key : before;
      keys[r] = keys[r] < larger ? keys[r] : larger;
      if (r == count - 1) worst = keys[r];
    }
  }

  /// The query itself where no candidate came: distances to NaN never do.
  __device__ void WriteTo(std::int32_t query, std::int32_t* neighbors) const {
    std::int32_t* const row = neighbors + static_cast<std::int64_t>(query) * count;
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) {
      const auto index = static_cast<std::int32_t>(static_cast<std::uint32_t>(keys[r]));
      if (r < count) row[r] = index == INT_MAX ? query : index;
    }
  }

  __device__ void Look(const SortedPoint& query, const SortedPoint& other) {
    if (other.index == query.index) return;
    const float dx = __fsub_rn(other.x, query.x);
    const float dy = __fsub_rn(other.y, query.y);
    const float dz = __fsub_rn(other.z, query.z);
    Insert(Key(__fmaf_rn(dz, dz, __fmaf_rn(dy, dy, __fmul_rn(dx, dx))), other.index));
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
  const std::int64_t p = GlobalThread();
  if (p >= n) return;
  const SortedPoint query = points[p];
  Best<kCapacity> best(out_degree);
  if (!SearchRings(best, query, grid, n, points, cell_begin)) {
    leftovers[atomicAdd(leftover_count, 1)] = static_cast<std::int32_t>(p);
    return;
  }
  best.WriteTo(query.index, neighbors);
}

/// Every point against every leftover query: a block a query, its threads' lists merged pairwise.
template <int kCapacity>
__global__ void LeftoverKernel(std::int64_t n, int out_degree, const SortedPoint* points,
                               const std::int32_t* leftovers, const std::int32_t* leftover_count,
                               std::int32_t* neighbors) {
  __shared__ std::uint64_t shared_keys[kThreads][kCapacity];
  const int me = static_cast<int>(threadIdx.x);
  for (std::int32_t l = static_cast<std::int32_t>(blockIdx.x); l < *leftover_count;
       l += static_cast<std::int32_t>(gridDim.x)) {
    const SortedPoint query = points[leftovers[l]];
    Best<kCapacity> best(out_degree);
    for (std::int64_t p = me; p < n; p += kThreads) best.Look(query, points[p]);
    for (int half = kThreads / 2; half > 0; half /= 2) {
#pragma unroll
      for (int r = 0; r < kCapacity; ++r) shared_keys[me][r] = best.keys[r];
      __syncthreads();
      if (me < half) {
        for (int r = 0; r < out_degree; ++r) best.Insert(shared_keys[me + half][r]);
      }
      __syncthreads();
    }
    if (me == 0) best.WriteTo(query.index, neighbors);
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
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(w.cell_begin, ends, w.tile_sums, stream));
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
  return TakeError(cudaStreamSynchronize(stream.get()));
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
