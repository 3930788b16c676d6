#pragma once

/// Kernel: the (up to) 16 nearest particles of sample points, by a 16-wide tree of boxes.
///
/// Order: float32 squared distance dx*dx + dy*dy + dz*dz without fused multiply-add, then original
/// index; the three instruction sets give equal results. Raw pointers, allocates nothing.

#include <cstdint>

#include "common/kernels/instruction_sets.h"

namespace interlacer {

inline constexpr int kGatherWidth = 16;
inline constexpr int kMaxTreeLevels = 8;
inline constexpr std::uint32_t kNoSlot = 0xffffffffu;

/// Particles in tree order. Slot = position in that order; a leaf holds 16 consecutive slots.
/// Group g of level 0 bounds leaves 16 g .. 16 g + 15; group g of level l bounds groups
/// 16 g .. 16 g + 15 of level l - 1. Unused lanes have coordinates +infinity.
struct ParticleTreeView {
  std::int64_t particle_count = 0;
  const float* leaf_xyz = nullptr;                ///< [leaves][3][16]
  const std::uint32_t* original_index = nullptr;  ///< [leaves * 16]
  const std::uint32_t* slot_of_index = nullptr;   ///< [particles]
  int level_count = 0;                            ///< top level has one group
  const float* level_boxes[kMaxTreeLevels] = {};  ///< [groups][6][16]: min x y z, max x y z
};

/// `points` [m,3]. `row_of_point` [m] names the row of `hint_slots` [rows,16] that holds the result
/// for a point near this one (or kNoSlot): it bounds the search and is overwritten by this point's.
/// Writes `slots` [m,16] and `sq_dist_m2` [m,16], nearest first, kNoSlot and +infinity beyond the
/// `neighbor_count` (<= 16) nearest or the particles there are.
using GatherNearestFn = void (*)(const ParticleTreeView& tree, int neighbor_count,
                                 const float* points, const std::int32_t* row_of_point,
                                 std::int64_t m, std::uint32_t* hint_slots, std::uint32_t* slots,
                                 float* sq_dist_m2);

INTERLACER_FOR_INSTRUCTION_SETS(void GatherNearest(const ParticleTreeView& tree, int neighbor_count,
                                                   const float* points,
                                                   const std::int32_t* row_of_point, std::int64_t m,
                                                   std::uint32_t* hint_slots, std::uint32_t* slots,
                                                   float* sq_dist_m2);)

}  // namespace interlacer
