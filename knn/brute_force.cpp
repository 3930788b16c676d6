#include "knn/brute_force.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/thread_pool.h"
#include "knn/cloud_checks.h"

namespace interlacer {

float SquaredDistance(const float* a_m, const float* b_m) {
  const float dx = b_m[0] - a_m[0];
  const float dy = b_m[1] - a_m[1];
  const float dz = b_m[2] - a_m[2];
  return std::fma(dz, dz, std::fma(dy, dy, dx * dx));
}

StatusOr<KnnGraph> BruteForceIndex::Graph(std::span<const float> positions_m, int k) const {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t n, CheckCloud(positions_m, k));
  KnnGraph graph;
  graph.n = n;
  graph.out_degree = static_cast<int>(std::min<std::int64_t>(k, std::max<std::int64_t>(n - 1, 0)));
  graph.neighbors.resize(static_cast<std::size_t>(n * graph.out_degree));
  ParallelFor(n, 64, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::pair<float, std::int32_t>> others;
    for (std::int64_t i = begin; i < end; ++i) {
      others.clear();
      for (std::int64_t j = 0; j < n; ++j) {
        if (j == i) continue;
        others.emplace_back(SquaredDistance(&positions_m[3 * i], &positions_m[3 * j]),
                            static_cast<std::int32_t>(j));
      }
      std::partial_sort(others.begin(), others.begin() + graph.out_degree, others.end());
      for (int r = 0; r < graph.out_degree; ++r) {
        graph.neighbors[i * graph.out_degree + r] = others[r].second;
      }
    }
  });
  return graph;
}

}  // namespace interlacer
