#pragma once

#include "knn/walk_lists.h"

namespace interlacer::testing {

/// Counts turned into loads: c_t / out_degree^t.
inline WeightedWalkLists ToWeighted(const WalkLists& lists) {
  const std::vector<double> code_loads = WalkCodeLoads(lists.out_degree);
  WeightedWalkLists weighted;
  weighted.n = lists.n;
  weighted.offsets = lists.offsets;
  for (const std::uint32_t entry : lists.entries) {
    weighted.nodes.push_back(static_cast<std::int32_t>(WalkEntryNode(entry)));
    for (int hops = 0; hops <= kMaxHops; ++hops) {
      weighted.loads.push_back(static_cast<float>(code_loads[4 * WalkEntryCode(entry) + hops]));
    }
  }
  return weighted;
}

}  // namespace interlacer::testing
