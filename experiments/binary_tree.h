#pragma once

/// The random trees of the experiments on graphs. A pure function of its arguments, thread-safe.

#include <cstdint>
#include <vector>

#include "common/random.h"

namespace interlacer {

/// Parents of `size` nodes, 1 or more; -1 of the first. Node i hangs on an earlier node of fewer
/// than two children, all such nodes alike.
inline std::vector<std::int64_t> DrawBinaryTree(std::int64_t size, RandomSequence* random) {
  std::vector<std::int64_t> parents{-1};
  std::vector<int> children(static_cast<std::size_t>(size), 0);
  while (static_cast<std::int64_t>(parents.size()) < size) {
    const std::int64_t parent = random->Below(static_cast<std::uint32_t>(parents.size()));
    int& count = children[static_cast<std::size_t>(parent)];
    if (count == 2) continue;
    ++count;
    parents.push_back(parent);
  }
  return parents;
}

}  // namespace interlacer
