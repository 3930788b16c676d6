#pragma once

/// A graph as lists of neighbours, for code without LibTorch. Value type.

#include <cstdint>
#include <vector>

namespace interlacer::attention {

/// Neighbours of node i are neighbors[offsets[i]] ... neighbors[offsets[i + 1] - 1].
struct EdgeLists {
  std::vector<std::int64_t> offsets{0};
  std::vector<std::int64_t> neighbors;
  std::int64_t size() const { return static_cast<std::int64_t>(offsets.size()) - 1; }
};

}  // namespace interlacer::attention
