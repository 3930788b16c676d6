#include <cmath>

#include "common/kernels/distance_key.h"
#include "common/kernels/launch.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kHalf = kGatherWidth;  // lanes of a search: one a box, particle or neighbour
constexpr int kSearches = kThreads / kHalf;
/// Most points that a half warp takes in a row, each search bounded by what the last one found.
constexpr int kMaxRun = 8;
/// A level leaves at most 15 nodes behind when the search goes down, the last one 16.
constexpr int kStackSize = 16 * kMaxTreeLevels;
constexpr int kKindShift = 28;
constexpr std::uint32_t kPlaceMask = (1u << kKindShift) - 1;
constexpr float kHugeSqDist = 3.4e38F;

/// A node still to be visited: kind 0 is a leaf, kind l + 1 a group of level l.
struct Node {
  float sq_dist;
  std::uint32_t kind_and_place;
};

/// Rounded after every operation, as on the CPU.
__device__ float SquaredLength(float dx, float dy, float dz) {
  return __fadd_rn(__fadd_rn(__fmul_rn(dx, dx), __fmul_rn(dy, dy)), __fmul_rn(dz, dz));
}

__device__ float Gap(float low, float high, float x) {
  const float below = __fsub_rn(low, x);
  const float above = __fsub_rn(x, high);
  const float gap = below > above ? below : above;
  return gap > 0 ? gap : 0;
}

/// Squared distance from the point to the member-th box or particle of a node.
__device__ float MemberSqDist(const ParticleTreeView& tree, std::uint32_t kind, std::int64_t place,
                              int member, const float (&point)[3]) {
  if (kind == 0) {
    const float* xyz = tree.leaf_xyz + 48 * place + member;
    return SquaredLength(__fsub_rn(xyz[0], point[0]), __fsub_rn(xyz[16], point[1]),
                         __fsub_rn(xyz[32], point[2]));
  }
  const float* box = tree.level_boxes[kind - 1] + 96 * place + member;
  return SquaredLength(Gap(box[0], box[48], point[0]), Gap(box[16], box[64], point[1]),
                       Gap(box[32], box[80], point[2]));
}

/// A squared distance that the last + 1 nearest of a point do not exceed, given those of another
/// point: to the farthest of them, rounded as in a search. No bound where that found too few.
__device__ float BoundFrom(const ParticleTreeView& tree, std::uint32_t slot, int last,
                           const float (&point)[3]) {
  const int member = static_cast<int>(threadIdx.x) % kHalf;
  float sq_dist = 0;
  if (member <= last) {
    sq_dist = slot == kNoSlot
                  ? kHugeSqDist
                  : MemberSqDist(tree, 0, slot / kHalf, static_cast<int>(slot % kHalf), point);
  }
  for (int step = kHalf / 2; step > 0; step /= 2) {
    sq_dist = fmaxf(sq_dist, __shfl_xor_sync(kWholeWarp, sq_dist, step));
  }
  return fminf(sq_dist, kHugeSqDist);
}

/// Half a warp a point. Lane i holds the i-th nearest so far, none beyond first_bound; both halves
/// walk in step, each down its own stack, nearest box first.
__device__ std::uint64_t Search(const ParticleTreeView& tree, int last, bool asked,
                                const float (&point)[3], float first_bound, Node* stack) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int half_begin = lane / kHalf * kHalf;
  const int member = lane % kHalf;
  int top = 0;
  if (asked && tree.particle_count > 0) {
    if (member == 0) stack[0] = {0, static_cast<std::uint32_t>(tree.level_count) << kKindShift};
    top = 1;
  }
  std::uint64_t key = SortKey(first_bound, kNoSlot);
  __syncwarp();
  while (__any_sync(kWholeWarp, top > 0)) {
    const float bound = KeySqDist(__shfl_sync(kWholeWarp, key, half_begin + last));
    // Takes the first of the 16 topmost nodes within the bound and drops those above it.
    const int from_top = top - 1 - member;
    const Node mine = from_top >= 0 ? stack[from_top] : Node{INFINITY, 0};
    const unsigned worth =
        (__ballot_sync(kWholeWarp, mine.sq_dist <= bound) >> half_begin) & 0xFFFFu;
    const bool visit = worth != 0;
    const int skipped = visit ? __ffs(static_cast<int>(worth)) - 1 : kHalf - 1;
    const std::uint32_t node = __shfl_sync(kWholeWarp, mine.kind_and_place, half_begin + skipped);
    top = top > skipped ? top - skipped - 1 : 0;
    __syncwarp();  // all have read before any writes where these nodes were
    const std::uint32_t kind = node >> kKindShift;
    const std::int64_t place = node & kPlaceMask;
    const float sq_dist = visit ? MemberSqDist(tree, kind, place, member, point) : INFINITY;
    const unsigned both = __ballot_sync(kWholeWarp, sq_dist <= bound);
    const unsigned near = (both >> half_begin) & 0xFFFFu;
    const bool leaf = visit && kind == 0;
    const bool group = visit && kind != 0;

    // Particles of a leaf, one by one: key i becomes min(key i, max(new key, key i - 1)).
    const std::uint32_t index = leaf ? tree.original_index[16 * place + member] : 0;
    for (unsigned rest = leaf ? near : 0; __any_sync(kWholeWarp, rest != 0); rest &= rest - 1) {
      const int from = half_begin + (rest != 0 ? __ffs(static_cast<int>(rest)) - 1 : 0);
      const float new_sq_dist = __shfl_sync(kWholeWarp, sq_dist, from);
      const std::uint32_t new_index = __shfl_sync(kWholeWarp, index, from);
      const std::uint64_t new_key = rest != 0 ? SortKey(new_sq_dist, new_index) : ~std::uint64_t{0};
      const std::uint64_t neighbor_key = __shfl_up_sync(kWholeWarp, key, 1);
      const std::uint64_t before = member == 0 ? 0 : neighbor_key;
      const std::uint64_t larger = new_key > before ? new_key : before;
      key = key < larger ? key : larger;
    }

    // Boxes of a group, the farthest first: the nearest is taken next.
    int farther = 0;
    for (unsigned rest = group ? near : 0; __any_sync(kWholeWarp, rest != 0); rest &= rest - 1) {
      const int from = rest != 0 ? __ffs(static_cast<int>(rest)) - 1 : 0;
      const float other = __shfl_sync(kWholeWarp, sq_dist, half_begin + from);
      farther += rest != 0 && (other > sq_dist || (other == sq_dist && from > member));
    }
    if (group) {
      if ((near >> member) & 1) {
        stack[top + farther] = {
            sq_dist, (kind - 1) << kKindShift | static_cast<std::uint32_t>(16 * place + member)};
      }
      top += __popc(near);
    }
    __syncwarp();
  }
  return key;
}

/// Points in a row, for half warps that have `share` points each: as equal as can be.
__device__ int RunLength(std::int64_t share) {
  const std::int64_t runs = (share + kMaxRun - 1) / kMaxRun;
  return static_cast<int>((share + runs - 1) / runs);
}

/// Nearest particles of samples by a depth-first search of the tree.
/// Bound: latency of dependent loads (node, then box or leaf) and of shuffles.
/// Block: half a warp per search, because groups and leaves have 16 members; as many blocks as the
/// device holds at once, each taking runs of consecutive points, whose results bound the next
/// search.
/// Layout: stacks in shared memory; boxes and leaves are read 16 lanes at a time.
__global__ void GatherNearestKernel(const __grid_constant__ ParticleTreeView tree, int last,
                                    const float* points, std::int64_t m, std::uint32_t* slots,
                                    float* sq_dist_m2, PassRange pass) {
  __shared__ Node stacks[kSearches][kStackSize];
  const int search = static_cast<int>(threadIdx.x) / kHalf;
  const int member = static_cast<int>(threadIdx.x) % kHalf;
  const std::int64_t count = CountInPass(pass, m);
  if (count == 0) return;
  const std::int64_t searches = static_cast<std::int64_t>(gridDim.x) * kSearches;
  const int run = RunLength((count + searches - 1) / searches);
  for (std::int64_t first = static_cast<std::int64_t>(blockIdx.x) * kSearches * run; first < count;
       first += searches * run) {
    std::uint32_t slot = kNoSlot;
    for (int i = 0; i < run; ++i) {
      const std::int64_t p = first + search * run + i;
      float point[3] = {0, 0, 0};
      for (int axis = 0; axis < 3 && p < count; ++axis) point[axis] = points[3 * p + axis];
      const float bound = BoundFrom(tree, slot, last, point);
      const std::uint64_t key = Search(tree, last, p < count, point, bound, stacks[search]);
      const std::uint32_t index = static_cast<std::uint32_t>(key);
      const bool found = member <= last && index != kNoSlot;
      slot = found ? tree.slot_of_index[index] : kNoSlot;
      if (p >= count) continue;
      slots[kGatherWidth * p + member] = slot;
      sq_dist_m2[kGatherWidth * p + member] = found ? KeySqDist(key) : INFINITY;
    }
  }
}

}  // namespace

CudaError LaunchGatherNearest(const ParticleTreeView& tree, int neighbor_count,
                              const float* points_device, std::int64_t m,
                              std::uint32_t* slots_device, float* sq_dist_device, CudaStream stream,
                              const PassRange& pass) {
  if (neighbor_count < 1 || neighbor_count > kGatherWidth || tree.level_count > kMaxTreeLevels ||
      tree.particle_count / kGatherWidth > kPlaceMask) {
    return cudaErrorInvalidValue;
  }
  std::int64_t resident = 0;
  INTERLACER_CUDA_RETURN_IF_ERROR(ResidentBlocks(GatherNearestKernel, {kThreads, 0}, &resident));
  const std::int64_t needed = BlocksFor(m, kSearches);
  return LaunchBlocks(GatherNearestKernel, needed < resident ? needed : resident, kThreads, stream,
                      tree, neighbor_count - 1, points_device, m, slots_device, sq_dist_device,
                      pass);
}

}  // namespace interlacer
