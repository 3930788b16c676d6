#pragma once

/// A 16-wide tree of bounding boxes over a cloud in a given order, in the form of ParticleTreeView.
/// Leaves need not be compact: they affect only the speed.

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "render/kernels/gather16.h"

namespace interlacer::testing {

struct BoxTree {
  std::int64_t n;
  std::vector<float> leaf_xyz;
  std::vector<std::uint32_t> original_index, slot_of_index;
  std::vector<std::vector<float>> level_boxes;

  /// Slot s holds particle order[s].
  BoxTree(const std::vector<float>& positions_m, const std::vector<std::uint32_t>& order)
      : n(static_cast<std::int64_t>(order.size())), original_index(order), slot_of_index(n) {
    constexpr float kInfinity = std::numeric_limits<float>::infinity();
    std::int64_t children = (n + 15) / 16;
    original_index.resize(static_cast<std::size_t>(16 * children), kNoSlot);
    leaf_xyz.assign(static_cast<std::size_t>(48 * children), kInfinity);
    for (std::int64_t slot = 0; slot < n; ++slot) {
      slot_of_index[order[slot]] = static_cast<std::uint32_t>(slot);
      for (int axis = 0; axis < 3; ++axis) {
        leaf_xyz[48 * (slot / 16) + 16 * axis + slot % 16] = positions_m[3 * order[slot] + axis];
      }
    }
    // Boxes by [child][axis] -> {low, high}; those of the leaves come first.
    std::vector<float> low(3 * children, kInfinity), high(3 * children, -kInfinity);
    for (std::int64_t slot = 0; slot < n; ++slot) {
      for (int axis = 0; axis < 3; ++axis) {
        const float x = positions_m[3 * order[slot] + axis];
        low[3 * (slot / 16) + axis] = std::min(low[3 * (slot / 16) + axis], x);
        high[3 * (slot / 16) + axis] = std::max(high[3 * (slot / 16) + axis], x);
      }
    }
    while (children > 0) {
      const std::int64_t groups = (children + 15) / 16;
      std::vector<float>& boxes =
          level_boxes.emplace_back(static_cast<std::size_t>(96 * groups), kInfinity);
      std::vector<float> next_low(3 * groups, kInfinity), next_high(3 * groups, -kInfinity);
      for (std::int64_t child = 0; child < children; ++child) {
        for (int axis = 0; axis < 3; ++axis) {
          const float child_low = low[3 * child + axis], child_high = high[3 * child + axis];
          boxes[96 * (child / 16) + 16 * axis + child % 16] = child_low;
          boxes[96 * (child / 16) + 48 + 16 * axis + child % 16] = child_high;
          float& group_low = next_low[3 * (child / 16) + axis];
          float& group_high = next_high[3 * (child / 16) + axis];
          group_low = std::min(group_low, child_low);
          group_high = std::max(group_high, child_high);
        }
      }
      low = next_low;
      high = next_high;
      if (groups == 1) return;
      children = groups;
    }
  }
};

}  // namespace interlacer::testing
