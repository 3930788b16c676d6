#pragma once

/// The slow, obvious twin of the back ends of knn/knn_index.h: all pairs, in O(n^2 log k).
///   positions_m  [n,3] float32, metres, finite; k >= 1; neither is checked
/// Order and ties are those of knn/knn_index.h. Pure, thread-safe.

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "knn/knn_graph.h"
#include "knn/squared_distance.h"

namespace interlacer::testing {

inline KnnGraph BruteForceGraph(std::span<const float> positions_m, int k) {
  KnnGraph graph;
  graph.n = static_cast<std::int64_t>(positions_m.size() / 3);
  graph.out_degree =
      static_cast<int>(std::min<std::int64_t>(k, std::max<std::int64_t>(graph.n - 1, 0)));
  std::vector<std::pair<float, std::int32_t>> others;
  for (std::int64_t i = 0; i < graph.n; ++i) {
    others.clear();
    for (std::int64_t j = 0; j < graph.n; ++j) {
      if (j == i) continue;
      others.emplace_back(SquaredDistance(&positions_m[3 * i], &positions_m[3 * j]),
                          static_cast<std::int32_t>(j));
    }
    std::partial_sort(others.begin(), others.begin() + graph.out_degree, others.end());
    for (int r = 0; r < graph.out_degree; ++r) graph.neighbors.push_back(others[r].second);
  }
  return graph;
}

}  // namespace interlacer::testing
