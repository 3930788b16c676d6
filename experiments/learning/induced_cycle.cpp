#include "experiments/learning/induced_cycle.h"

#include <algorithm>

#include "experiments/binary_tree.h"

namespace interlacer {

CyclePair DrawCyclePair(RandomSequence* random) {
  using Edge = std::array<std::int64_t, 2>;
  const std::vector<std::int64_t> parents = DrawBinaryTree(kCycleNodes, random);
  // Parents come before their children.
  std::array<std::array<std::int64_t, kCycleNodes>, kCycleNodes> hops{};
  std::int64_t diameter = 0;
  std::vector<Edge> tree;
  for (std::int64_t i = 1; i < kCycleNodes; ++i) {
    const auto node = static_cast<std::size_t>(i);
    const auto parent = static_cast<std::size_t>(parents[node]);
    tree.push_back({parents[node], i});
    for (std::size_t other = 0; other < node; ++other) {
      hops[node][other] = hops[other][node] = hops[parent][other] + 1;
      diameter = std::max(diameter, hops[node][other]);
    }
  }
  std::vector<Edge> furthest, nearer;
  for (std::int64_t a = 0; a < kCycleNodes; ++a) {
    for (std::int64_t b = a + 1; b < kCycleNodes; ++b) {
      const std::int64_t apart = hops[static_cast<std::size_t>(a)][static_cast<std::size_t>(b)];
      if (apart == diameter) furthest.push_back({a, b});
      if (apart > 1 && apart < diameter) nearer.push_back({a, b});
    }
  }
  const auto with_one_of = [&](const std::vector<Edge>& edges) {
    std::vector<Edge> joined = tree;
    joined.push_back(edges[random->Below(static_cast<std::uint32_t>(edges.size()))]);
    return joined;
  };
  CyclePair pair;
  pair.positive = with_one_of(furthest);
  pair.negative = with_one_of(nearer);
  return pair;
}

}  // namespace interlacer
