#include <cmath>

#include "common/kernels/launch.h"
#include "common/kernels/radix_sort.h"
#include "common/kernels/workspace.h"
#include "knn/kernels/morton_code.h"
#include "knn/kernels/morton_order_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / kWarpLanes;
/// Blocks that reduce the bounds of a cloud: two per lane of the warps that combine their results.
constexpr int kCornerBlocks = 2 * kWarpLanes;
/// Bounds of a cloud: the lowest coordinates, and the highest ones negated, so that all six are
/// minima.
constexpr int kBounds = 6;
static_assert(kBounds <= kWarps);
/// The bit above the code names the cloud that a key belongs to.
constexpr int kKeyBits = kMortonCodeBits + 1;

struct Clouds {
  MortonCloud first;
  MortonCloud second;
  int feature_width;
};

/// Selects by value: indexing an array of clouds would copy it to local memory.
__device__ MortonCloud Pick(const Clouds& clouds, bool second) {
  return second ? clouds.second : clouds.first;
}

struct Workspace {
  float* bounds;  // [2, kBounds, kCornerBlocks]
  RadixSortBuffers sort;
  std::size_t size_bytes;
};

Workspace Carve(void* base, std::int64_t count) {
  WorkspaceCutter cutter(base);
  Workspace w;
  w.bounds = cutter.Take<float>(2 * kBounds * kCornerBlocks);
  for (int which = 0; which < 2; ++which) {
    w.sort.keys[which] = cutter.Take<std::uint32_t>(count);
    w.sort.values[which] = cutter.Take<std::uint32_t>(count);
  }
  w.sort.scratch = cutter.Take<std::int32_t>(RadixSortScratchCount(count));
  w.size_bytes = cutter.size_bytes();
  return w;
}

__device__ float LeastOfWarp(float value) {
#pragma unroll
  for (int step = kWarpLanes / 2; step > 0; step /= 2) {
    value = fminf(value, __shfl_xor_sync(kWholeWarp, value, step));
  }
  return value;
}

/// Bounds of both clouds, kCornerBlocks partial results each.
/// Bound: memory; every position is read once.
/// Block: a fixed number of blocks strides over the points, so that one warp can combine their
/// results.
/// Layout: bounds [cloud, bound, block], so that this warp reads neighbouring numbers.
__global__ void CornersKernel(Clouds clouds, float* bounds) {
  __shared__ float least[kBounds][kWarps];
  const int which = static_cast<int>(blockIdx.x) / kCornerBlocks;
  const int block = static_cast<int>(blockIdx.x) % kCornerBlocks;
  const MortonCloud cloud = Pick(clouds, which == 1);
  float mine[kBounds];
#pragma unroll
  for (float& bound : mine) bound = INFINITY;
  for (std::int64_t i = block * kThreads + threadIdx.x; i < cloud.n;
       i += kCornerBlocks * kThreads) {
#pragma unroll
    for (int axis = 0; axis < 3; ++axis) {
      const float x = cloud.positions_m[3 * i + axis];
      mine[axis] = fminf(mine[axis], x);
      mine[3 + axis] = fminf(mine[3 + axis], -x);
    }
  }
#pragma unroll
  for (int b = 0; b < kBounds; ++b) {
    const float of_warp = LeastOfWarp(mine[b]);
    if (threadIdx.x % kWarpLanes == 0) least[b][threadIdx.x / kWarpLanes] = of_warp;
  }
  __syncthreads();
  if (threadIdx.x >= kBounds) return;
  float of_block = least[threadIdx.x][0];
  for (int w = 1; w < kWarps; ++w) of_block = fminf(of_block, least[threadIdx.x][w]);
  bounds[(which * kBounds + threadIdx.x) * kCornerBlocks + block] = of_block;
}

/// Sort keys of all points: cloud, then Morton code. The first `first_blocks` blocks have the
/// points of the first cloud.
/// Bound: memory; a position is read, a key and an index are written.
/// Block: a thread per point; the first kBounds warps combine the partial bounds, anew in every
/// block, which saves a launch.
/// Layout: the keys of the second cloud follow those of the first.
__global__ void KeysKernel(Clouds clouds, unsigned first_blocks, const float* bounds,
                           double cell_edge_m, std::uint32_t* keys, std::uint32_t* values) {
  __shared__ float joined[kBounds];
  const bool is_second = blockIdx.x >= first_blocks;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  if (warp < kBounds) {
    const float* const of_blocks = bounds + (kBounds * is_second + warp) * kCornerBlocks;
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
    const float bound = LeastOfWarp(fminf(of_blocks[lane], of_blocks[lane + kWarpLanes]));
    if (lane == 0) joined[warp] = warp < 3 ? bound : -bound;
  }
  __syncthreads();
  const MortonCloud cloud = Pick(clouds, is_second);
  const std::int64_t i =
      std::int64_t{blockIdx.x - (is_second ? first_blocks : 0)} * kThreads + threadIdx.x;
  if (i >= cloud.n) return;
  const MortonCells cells = MortonCellsOf(joined, joined + 3, cell_edge_m);
  const std::int64_t at = (is_second ? clouds.first.n : 0) + i;
  keys[at] = MortonCodeOf(cloud.positions_m + 3 * i, cells) | std::uint32_t{is_second}
                                                                  << kMortonCodeBits;
  values[at] = static_cast<std::uint32_t>(i);
}

/// Writes the order and permutes the rows of positions and features, `row` numbers per place.
/// Bound: memory; reads are scattered by row, writes follow the order.
/// Block: a thread per number, so that the threads of a row read neighbouring memory; the first
/// thread of a row also writes the order and its inverse.
/// Layout: the numbers of a place are its three coordinates, then its features.
__global__ void PlacesKernel(Clouds clouds, std::int64_t numbers, int row,
                             const std::uint32_t* values) {
  const std::int64_t x = GlobalThread();
  if (x >= numbers) return;
  const std::int64_t at = x / row;
  const int c = static_cast<int>(x % row);
  const bool is_second = at >= clouds.first.n;
  const MortonCloud cloud = Pick(clouds, is_second);
  const std::int64_t place = at - (is_second ? clouds.first.n : 0);
  const std::int64_t i = values[at];
  if (c == 0) {
    cloud.point_at[place] = i;
    cloud.place_of[i] = place;
  }
  if (cloud.features == nullptr) return;
  if (c < 3) {
    cloud.ordered_positions_m[3 * place + c] = cloud.positions_m[3 * i + c];
  } else {
    const std::int64_t width = clouds.feature_width;
    cloud.ordered_features[width * place + c - 3] = cloud.features[width * i + c - 3];
  }
}

}  // namespace

std::size_t MortonOrderWorkspaceBytes(std::int64_t first_n, std::int64_t second_n) {
  return Carve(nullptr, first_n + second_n).size_bytes;
}

CudaError LaunchMortonOrder(const MortonCloud& first, const MortonCloud& second, int feature_width,
                            double cell_edge_m, void* workspace_device, CudaStream stream) {
  const std::int64_t count = first.n + second.n;
  if (first.n < 0 || second.n < 0 || count > 2147483647 || feature_width < 0) {
    return cudaErrorInvalidValue;
  }
  if (count == 0) return 0;
  const Clouds clouds = {first, second, feature_width};
  const Workspace w = Carve(workspace_device, count);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(CornersKernel, 2 * kCornerBlocks, kThreads, stream, clouds, w.bounds));
  const std::int64_t first_blocks = BlocksFor(first.n, kThreads);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(KeysKernel, first_blocks + BlocksFor(second.n, kThreads), kThreads, stream,
                   clouds, first_blocks, w.bounds, cell_edge_m, w.sort.keys[0], w.sort.values[0]));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchRadixSort(w.sort, count, kKeyBits, stream));
  const bool with_rows = first.features != nullptr || second.features != nullptr;
  const int row = with_rows ? 3 + feature_width : 1;
  return LaunchBlocks(PlacesKernel, BlocksFor(count * row, kThreads), kThreads, stream, clouds,
                      count * row, row, w.sort.values[RadixSortResult(kKeyBits)]);
}

}  // namespace interlacer
