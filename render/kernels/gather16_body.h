/// Body of gather16.h; the including file sets INTERLACER_KERNEL_NAMESPACE and is built with
/// -ffp-contract=off, so that every instruction set rounds alike. No include guard on purpose.
/// Bound: latency of dependent loads down the tree and of mispredicted branches. Layout: 16 boxes
/// or particles are the lanes of one load per axis.

#include "render/kernels/gather16.h"
#include "render/kernels/simd16.h"

namespace interlacer::INTERLACER_KERNEL_NAMESPACE {
namespace {

constexpr float kHugeSqDist = 3.4e38f;

/// Squared distance and original index in one integer that sorts as (distance, index).
INTERLACER_LANES std::uint64_t SortKey(float sq_dist, std::uint32_t index) {
  std::uint32_t bits;
  std::memcpy(&bits, &sq_dist, sizeof(bits));
  return (static_cast<std::uint64_t>(bits) << 32) | index;
}
INTERLACER_LANES float KeySqDist(std::uint64_t key) {
  const std::uint32_t bits = static_cast<std::uint32_t>(key >> 32);
  float sq_dist;
  std::memcpy(&sq_dist, &bits, sizeof(sq_dist));
  return sq_dist;
}

struct Search {
  const ParticleTreeView& tree;
  float x, y, z;
  int last;  // rank of the farthest wanted neighbour
  std::uint64_t keys[kGatherWidth];

  float bound() const { return KeySqDist(keys[last]); }
};

INTERLACER_LANES F16 LeafSqDist(const Search& s, std::int64_t leaf) {
  const float* xyz = s.tree.leaf_xyz + 48 * leaf;
  const F16 dx = Load16(xyz) - s.x;
  const F16 dy = Load16(xyz + 16) - s.y;
  const F16 dz = Load16(xyz + 32) - s.z;
  return dx * dx + dy * dy + dz * dz;
}

/// Squared distance to the 16 boxes of a group; rounding is monotone, so it never exceeds the
/// float distance to a particle inside.
INTERLACER_LANES F16 GroupSqDist(const Search& s, int level, std::int64_t group) {
  const float* box = s.tree.level_boxes[level] + 96 * group;
  const F16 zero = Zero16();
  const F16 dx = Max16(Max16(Load16(box) - s.x, Minus(s.x, Load16(box + 48))), zero);
  const F16 dy = Max16(Max16(Load16(box + 16) - s.y, Minus(s.y, Load16(box + 64))), zero);
  const F16 dz = Max16(Max16(Load16(box + 32) - s.z, Minus(s.z, Load16(box + 80))), zero);
  return dx * dx + dy * dy + dz * dz;
}

/// Inserts the particles of a leaf whose bits are set. A key that is too large falls off the end.
INTERLACER_LANES void InsertKeys(Search& s, std::uint32_t mask, const float* sq_dist,
                                 const std::uint32_t* index) {
#if defined(__AVX512F__)
  // Without branches: keys[i] = min(keys[i], max(key, keys[i - 1])).
  const __m512i zero = _mm512_setzero_si512();
  __m512i low = _mm512_loadu_si512(s.keys), high = _mm512_loadu_si512(s.keys + 8);
  for (; mask != 0; mask &= mask - 1) {
    const int i = __builtin_ctz(mask);
    const __m512i key = _mm512_set1_epi64(static_cast<std::int64_t>(SortKey(sq_dist[i], index[i])));
    const __m512i before_low = _mm512_maskz_alignr_epi64(0xff, low, zero, 7);
    const __m512i before_high = _mm512_maskz_alignr_epi64(0xff, high, low, 7);
    low = _mm512_maskz_min_epu64(0xff, low, _mm512_maskz_max_epu64(0xff, key, before_low));
    high = _mm512_maskz_min_epu64(0xff, high, _mm512_maskz_max_epu64(0xff, key, before_high));
  }
  _mm512_storeu_si512(s.keys, low);
  _mm512_storeu_si512(s.keys + 8, high);
#else
  for (; mask != 0; mask &= mask - 1) {
    const int i = __builtin_ctz(mask);
    const std::uint64_t key = SortKey(sq_dist[i], index[i]);
    if (key >= s.keys[s.last]) continue;
    int rank = s.last;
    for (; rank > 0 && s.keys[rank - 1] > key; --rank) s.keys[rank] = s.keys[rank - 1];
    s.keys[rank] = key;
  }
#endif
}

INTERLACER_LANES void VisitLeaf(Search& s, std::int64_t leaf) {
  const F16 sq_dist = LeafSqDist(s, leaf);
  const std::uint32_t mask = AtMostMask16(sq_dist, s.bound());
  if (mask == 0) return;
  float lane[16];
  Store16(lane, sq_dist);
  InsertKeys(s, mask, lane, s.tree.original_index + 16 * leaf);
}

void VisitGroup(Search& s, int level, std::int64_t group) {
  const F16 sq_dist = GroupSqDist(s, level, group);
  std::uint32_t mask = AtMostMask16(sq_dist, s.bound());
  if (mask == 0) return;
  float lane[16];
  Store16(lane, sq_dist);
  while (mask != 0) {
    // Nearest child first: the bound shrinks early.
    int nearest = __builtin_ctz(mask);
    for (std::uint32_t rest = mask & (mask - 1); rest != 0; rest &= rest - 1) {
      const int i = __builtin_ctz(rest);
      if (lane[i] < lane[nearest]) nearest = i;
    }
    if (lane[nearest] > s.bound()) return;
    mask &= ~(1u << nearest);
    const std::int64_t child = 16 * group + nearest;
    if (level == 0) {
      VisitLeaf(s, child);
    } else {
      VisitGroup(s, level - 1, child);
    }
  }
}

/// Upper bound of the wanted distance from the neighbours of a point nearby.
INTERLACER_LANES float HintBound(const Search& s, const std::uint32_t* hint) {
  float bound = 0;
  for (int i = 0; i <= s.last; ++i) {
    if (hint[i] == kNoSlot) return kHugeSqDist;
    const float* xyz = s.tree.leaf_xyz + 48 * (hint[i] / 16) + hint[i] % 16;
    const float dx = xyz[0] - s.x, dy = xyz[16] - s.y, dz = xyz[32] - s.z;
    const float sq_dist = dx * dx + dy * dy + dz * dz;
    bound = sq_dist > bound ? sq_dist : bound;
  }
  return bound < kHugeSqDist ? bound : kHugeSqDist;
}

}  // namespace

void GatherNearest(const ParticleTreeView& tree, int neighbor_count, const float* points,
                   const std::int32_t* row_of_point, std::int64_t m, std::uint32_t* hint_slots,
                   std::uint32_t* slots, float* sq_dist_m2) {
  for (std::int64_t p = 0; p < m; ++p) {
    const float* point = points + 3 * p;
    Search s{tree, point[0], point[1], point[2], neighbor_count - 1, {}};
    std::uint32_t* hint = hint_slots + kGatherWidth * row_of_point[p];
    // A row without a result yet starts from the point before it.
    const bool fresh = hint[0] == kNoSlot && p > 0;
    const float bound = HintBound(s, fresh ? slots + kGatherWidth * (p - 1) : hint);
    const std::uint64_t absent = SortKey(bound, kNoSlot);
    for (std::uint64_t& key : s.keys) key = absent;
    if (tree.particle_count > 0) VisitGroup(s, tree.level_count - 1, 0);
    for (int i = 0; i < kGatherWidth; ++i) {
      const bool found = i <= s.last && s.keys[i] != absent;
      const std::uint32_t slot =
          found ? tree.slot_of_index[static_cast<std::uint32_t>(s.keys[i])] : kNoSlot;
      hint[i] = slots[kGatherWidth * p + i] = slot;
      sq_dist_m2[kGatherWidth * p + i] = found ? KeySqDist(s.keys[i]) : __builtin_inff();
    }
  }
}

}  // namespace interlacer::INTERLACER_KERNEL_NAMESPACE
