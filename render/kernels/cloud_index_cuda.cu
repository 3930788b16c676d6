#include <cfloat>

#include "common/kernels/launch.h"
#include "common/kernels/radix_sort.h"
#include "common/kernels/workspace.h"
#include "render/kernels/cloud_index_cuda.h"
#include "render/kernels/hilbert_code.h"
#include "render/kernels/occupancy_reach.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
/// Fixed number of blocks that share the cells of a grid whose size only the device knows.
constexpr std::int64_t kCellBlocks = 1056;
/// More than any squared gap within the radius; two equal bytes, so that a fill can write it.
constexpr int kFarByte = 0x7F;
constexpr int kFar = 0x7F7F;

struct Workspace {
  RadixSortBuffers sort;
  std::uint32_t* bounds;  // [6] lowest x y z, highest x y z as LowFirst has them
  std::uint16_t* gaps;    // [cells]
  std::uint16_t* next_gaps;
  std::size_t size_bytes;
};

Workspace Carve(void* base, std::int64_t n) {
  WorkspaceCutter cutter(base);
  Workspace w;
  for (int side = 0; side < 2; ++side) {
    w.sort.keys[side] = cutter.Take<std::uint32_t>(n);
    w.sort.values[side] = cutter.Take<std::uint32_t>(n);
  }
  w.sort.scratch = cutter.Take<std::int32_t>(RadixSortScratchCount(n));
  w.bounds = cutter.Take<std::uint32_t>(6);
  w.gaps = cutter.Take<std::uint16_t>(kMaxOccupancyCells);
  w.next_gaps = cutter.Take<std::uint16_t>(kMaxOccupancyCells);
  w.size_bytes = cutter.size_bytes();
  return w;
}

/// Maps a float to an integer of the same order, and back.
__device__ std::uint32_t LowFirst(float x) {
  const std::uint32_t bits = __float_as_uint(x);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000u;
}
__device__ float FromLowFirst(std::uint32_t order) {
  return __uint_as_float((order >> 31) != 0 ? order & 0x7FFFFFFFu : ~order);
}

/// Bounds of the finite particles. The minimum of integers does not depend on the order of the
/// atomics.
/// Bound: memory; a position is read once, and a warp issues six atomics.
/// Block: a thread per particle, reduced within the warp, so the size only has to fill whole warps.
/// Layout: bounds as LowFirst has them, the highest inverted, so that all six are minima.
__global__ void BoundsKernel(const float* positions_m, std::int64_t n, std::uint32_t* bounds) {
  const std::int64_t i = GlobalThread();
  const float* p = positions_m + 3 * i;
  const bool counts =
      i < n && fabsf(p[0]) <= FLT_MAX && fabsf(p[1]) <= FLT_MAX && fabsf(p[2]) <= FLT_MAX;
  for (int axis = 0; axis < 3; ++axis) {
    std::uint32_t low = counts ? LowFirst(p[axis]) : 0xFFFFFFFFu;
    std::uint32_t high = counts ? ~LowFirst(p[axis]) : 0xFFFFFFFFu;
    for (int step = kWarpLanes / 2; step > 0; step /= 2) {
      const std::uint32_t other_low = __shfl_xor_sync(kWholeWarp, low, step);
      const std::uint32_t other_high = __shfl_xor_sync(kWholeWarp, high, step);
      low = other_low < low ? other_low : low;
      high = other_high < high ? other_high : high;
    }
    if (threadIdx.x % kWarpLanes == 0) {
      atomicMin(&bounds[axis], low);
      atomicMin(&bounds[3 + axis], high);
    }
  }
}

__device__ double CellsAlong(double length_m, double cell_m) {
  return floor(length_m / cell_m) + 1;
}

/// The box over the bounds, with a whole cell of margin beyond the reach on every side.
/// Bound: latency; on the device, so that the host need not wait for the size.
/// Block: a single thread.
/// Layout: bounds as BoundsKernel writes them.
__global__ void BoxKernel(const std::uint32_t* bounds, double reach_m, OccupancyBox* box) {
  OccupancyBox b = {};
  b.cell_m = 1;
  if (bounds[0] != 0xFFFFFFFFu) {
    double length_m[3];
    float longest_m = 0;
    const double margin_m = reach_m * (1.0 + 1.0 / kCellsPerRadius);
    for (int axis = 0; axis < 3; ++axis) {
      const float high_m = FromLowFirst(~bounds[3 + axis]);
      b.low_m[axis] = FromLowFirst(bounds[axis]);
      b.origin_m[axis] = static_cast<double>(b.low_m[axis]) - margin_m;
      length_m[axis] = static_cast<double>(high_m) + margin_m - b.origin_m[axis];
      const float side_m = high_m - b.low_m[axis];
      longest_m = side_m > longest_m ? side_m : longest_m;
    }
    b.cell_m = reach_m / kCellsPerRadius;
    while (CellsAlong(length_m[0], b.cell_m) * CellsAlong(length_m[1], b.cell_m) *
               CellsAlong(length_m[2], b.cell_m) >
           static_cast<double>(kMaxOccupancyCells)) {
      b.cell_m *= 1.25;
    }
    for (int axis = 0; axis < 3; ++axis) {
      b.cells[axis] = static_cast<std::int32_t>(CellsAlong(length_m[axis], b.cell_m));
    }
    b.cells_per_m = (1 << kHilbertBits) / (longest_m > FLT_MIN ? longest_m : FLT_MIN);
  }
  *box = b;
}

__device__ std::uint32_t CurveCell(const OccupancyBox& box, int axis, float x) {
  constexpr float kLast = (1 << kHilbertBits) - 1;
  const float cell = (x - box.low_m[axis]) * box.cells_per_m;
  return static_cast<std::uint32_t>(!(cell > 0) ? 0 : cell > kLast ? kLast : cell);
}

/// Hilbert codes of the particles, the keys of their order.
/// Bound: integer arithmetic of the curve, a loop over the bits of a coordinate.
/// Block: a thread per particle, nothing shared.
/// Layout: neighbouring threads write neighbouring codes and indices.
__global__ void CodesKernel(const OccupancyBox* box, const float* positions_m, std::int64_t n,
                            std::uint32_t* codes, std::uint32_t* indices) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  const float* p = positions_m + 3 * i;
  codes[i] =
      HilbertCode(CurveCell(*box, 0, p[0]), CurveCell(*box, 1, p[1]), CurveCell(*box, 2, p[2]));
  indices[i] = static_cast<std::uint32_t>(i);
}

/// Copies particles to their slots and pads the last leaf.
/// Bound: memory; reads are scattered, and close in memory as far as the caller's order is.
/// Block: a thread per slot, nothing shared.
/// Layout: a leaf is [3][16], so that the 16 lanes of a search read an axis at once.
__global__ void LeavesKernel(const std::uint32_t* order, const float* positions_m, std::int64_t n,
                             std::int64_t slots, CloudIndex index) {
  const std::int64_t slot = GlobalThread();
  if (slot >= slots) return;
  const std::uint32_t original = slot < n ? order[slot] : kNoSlot;
  index.original_index[slot] = original;
  if (slot < n) index.slot_of_index[original] = static_cast<std::uint32_t>(slot);
  float* const leaf = index.leaf_xyz + 48 * (slot / kGatherWidth) + slot % kGatherWidth;
  for (int axis = 0; axis < 3; ++axis) {
    leaf[16 * axis] =
        slot < n ? positions_m[3 * static_cast<std::int64_t>(original) + axis] : INFINITY;
  }
}

/// Feature rows in slot order.
/// Bound: memory; the threads of a row read neighbouring numbers.
/// Block: a thread per number, nothing shared.
/// Layout: rows in slot order, so that those of a leaf are contiguous.
__global__ void FeaturesKernel(const std::uint32_t* order, const float* features, std::int64_t n,
                               int width, float* sorted) {
  const std::int64_t i = GlobalThread();
  if (i >= n * width) return;
  sorted[i] = features[static_cast<std::int64_t>(order[i / width]) * width + i % width];
}

/// Boxes of one level: low and high of 16 particles (`highs_apart` 0) or of 16 boxes, which are
/// padded with +infinity.
/// Bound: memory; a child is read once.
/// Block: a thread per child and axis, nothing shared.
/// Layout: a group of 16 boxes is [6][16], so that the 16 lanes of a search read a side at once.
__global__ void BoxesKernel(const float* below, int floats_each, int highs_apart,
                            std::int64_t child_count, std::int64_t lanes, float* boxes) {
  const std::int64_t t = GlobalThread();
  if (t >= 3 * lanes) return;
  const std::int64_t child = t % lanes;
  const int axis = static_cast<int>(t / lanes);
  float low = INFINITY;
  float high = child < child_count ? -INFINITY : INFINITY;
  if (child < child_count) {
    const float* lows = below + floats_each * child + 16 * axis;
    for (int i = 0; i < kGatherWidth; ++i) {
      low = fminf(low, lows[i]);
      const float top = lows[highs_apart + i];
      if (top < INFINITY && top > high) high = top;
    }
  }
  float* const box = boxes + 96 * (child / kGatherWidth) + child % kGatherWidth;
  box[16 * axis] = low;
  box[48 + 16 * axis] = high;
}

/// Marks the cells of particles. Every writer of a cell writes the same number; volatile, because
/// concurrent writes would be a data race otherwise.
/// Bound: scattered writes of 2 bytes, one per particle.
/// Block: a thread per particle, nothing shared.
/// Layout: cells with x fastest, as OccupancyCell numbers them.
__global__ void MarkParticlesKernel(const OccupancyBox* box, const float* positions_m,
                                    std::int64_t n, std::uint16_t* gaps) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  const std::int64_t cell = OccupancyCell(*box, positions_m + 3 * i);
  if (cell >= 0) static_cast<volatile std::uint16_t&>(gaps[cell]) = 0;
}

/// Least squared number of whole cells to an occupied cell along one axis more:
/// next[i] = min over |s| <= window of gaps[i + s] + max(|s| - 1, 0)^2, s in cells along the axis.
/// Bound: reads of the window from cache, about 20 numbers per cell and axis.
/// Block: a fixed number of blocks strides over the cells, whose number only the device knows.
/// Layout: neighbouring threads have neighbours along x, so that all three axes read whole lines.
__global__ void SpreadKernel(const OccupancyBox* box, int axis, double reach_m,
                             const std::uint16_t* gaps, std::uint16_t* next,
                             std::uint8_t* occupied) {
  const std::int64_t cell_count = box->cell_count();
  const double reach = reach_m / box->cell_m;  // in cells
  const int window = static_cast<int>(reach) + 1;
  const std::int32_t size = box->cells[axis];
  std::int64_t stride = 1;
  for (int a = 0; a < axis; ++a) stride *= box->cells[a];
  for (std::int64_t cell = GlobalThread(); cell < cell_count;
       cell += static_cast<std::int64_t>(gridDim.x) * blockDim.x) {
    const std::int32_t place = static_cast<std::int32_t>(cell / stride % size);
    const int first = place > window ? -window : -place;
    const int last = size - 1 - place > window ? window : size - 1 - place;
    int least = kFar;
    for (int shift = first; shift <= last; ++shift) {
      const int distance = shift < 0 ? -shift : shift;
      const int gap = distance > 1 ? distance - 1 : 0;
      const int sum = gaps[cell + shift * stride] + gap * gap;
      least = sum < least ? sum : least;
    }
    next[cell] = static_cast<std::uint16_t>(least);
    if (occupied != nullptr) occupied[cell] = least <= reach * reach;
  }
}

CudaError LaunchOccupancy(const CloudIndex& index, const float* positions_m, std::int64_t n,
                          double reach_m, const Workspace& w, CudaStream stream) {
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(w.gaps, kFarByte, kMaxOccupancyCells * sizeof(std::uint16_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(MarkParticlesKernel, BlocksFor(n, kThreads),
                                               kThreads, stream, index.box, positions_m, n,
                                               w.gaps));
  std::uint16_t* from = w.gaps;
  std::uint16_t* to = w.next_gaps;
  for (int axis = 0; axis < 3; ++axis) {
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(SpreadKernel, kCellBlocks, kThreads, stream,
                                                 index.box, axis, reach_m, from, to,
                                                 axis == 2 ? index.occupied : nullptr));
    std::uint16_t* const read = from;
    from = to;
    to = read;
  }
  return 0;
}

CudaError LaunchTree(const CloudIndex& index, const float* positions_m, const float* features,
                     std::int64_t n, int feature_width, const Workspace& w, CudaStream stream) {
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(CodesKernel, BlocksFor(n, kThreads), kThreads,
                                               stream, index.box, positions_m, n, w.sort.keys[0],
                                               w.sort.values[0]));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchRadixSort(w.sort, n, kHilbertCodeBits, stream));
  const std::uint32_t* order = w.sort.values[RadixSortResult(kHilbertCodeBits)];
  std::int64_t children = BlocksFor(n, kGatherWidth);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(LeavesKernel, BlocksFor(kGatherWidth * children, kThreads), kThreads, stream,
                   order, positions_m, n, kGatherWidth * children, index));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(FeaturesKernel, BlocksFor(n * feature_width, kThreads), kThreads, stream, order,
                   features, n, feature_width, index.features));
  const float* below = index.leaf_xyz;
  for (int level = 0; level < index.tree.level_count; ++level) {
    const std::int64_t groups = BlocksFor(children, kGatherWidth);
    const std::int64_t lanes = kGatherWidth * groups;
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(
        BoxesKernel, BlocksFor(3 * lanes, kThreads), kThreads, stream, below, level == 0 ? 48 : 96,
        level == 0 ? 0 : 48, children, lanes, index.level_boxes[level]));
    below = index.level_boxes[level];
    children = groups;
  }
  return 0;
}

}  // namespace

CloudIndex LayOutCloudIndex(void* memory, std::int64_t n, int feature_width) {
  WorkspaceCutter cutter(memory);
  CloudIndex index;
  index.box = cutter.Take<OccupancyBox>(1);
  index.occupied = cutter.Take<std::uint8_t>(kMaxOccupancyCells);
  std::int64_t children = BlocksFor(n, kGatherWidth);
  index.original_index = cutter.Take<std::uint32_t>(kGatherWidth * children);
  index.slot_of_index = cutter.Take<std::uint32_t>(n);
  index.leaf_xyz = cutter.Take<float>(48 * children);
  index.features = cutter.Take<float>(n * feature_width);
  index.tree.particle_count = n;
  index.tree.leaf_xyz = index.leaf_xyz;
  index.tree.original_index = index.original_index;
  index.tree.slot_of_index = index.slot_of_index;
  while (children > 0) {
    children = BlocksFor(children, kGatherWidth);
    const int level = index.tree.level_count++;
    index.level_boxes[level] = cutter.Take<float>(96 * children);
    index.tree.level_boxes[level] = index.level_boxes[level];
    if (children == 1) break;
  }
  index.size_bytes = cutter.size_bytes();
  return index;
}

std::size_t CloudIndexWorkspaceBytes(std::int64_t n) { return Carve(nullptr, n).size_bytes; }

CudaError LaunchCloudIndex(const CloudIndex& index, const float* positions_m, const float* features,
                           std::int64_t n, int feature_width, float radius_m, void* workspace,
                           CudaStream stream) {
  if (n < 0 || n > kMaxIndexedParticles) return cudaErrorInvalidValue;
  const Workspace w = Carve(workspace, n);
  const double reach_m = static_cast<double>(radius_m) * kReachSlack;
  INTERLACER_CUDA_RETURN_IF_ERROR(
      cudaMemsetAsync(w.bounds, 0xFF, 6 * sizeof(std::uint32_t), stream));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(BoundsKernel, BlocksFor(n, kThreads), kThreads,
                                               stream, positions_m, n, w.bounds));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(BoxKernel, 1, 1, stream, w.bounds, reach_m, index.box));
  if (n == 0) return 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchTree(index, positions_m, features, n, feature_width, w, stream));
  return LaunchOccupancy(index, positions_m, n, reach_m, w, stream);
}

}  // namespace interlacer
