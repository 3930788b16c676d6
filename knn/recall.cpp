#include "knn/recall.h"

#include <algorithm>

#include "common/check.h"

namespace interlacer {

double Recall(const KnnGraph& graph, const KnnGraph& exact) {
  INTERLACER_CHECK(graph.n == exact.n && graph.out_degree == exact.out_degree,
                   "graphs of different shapes");
  if (exact.neighbors.empty()) return 1;
  std::int64_t found = 0;
  for (std::int64_t i = 0; i < exact.n; ++i) {
    const auto row = graph.neighbors.begin() + i * exact.out_degree;
    for (int r = 0; r < exact.out_degree; ++r) {
      const std::int32_t wanted = exact.neighbors[i * exact.out_degree + r];
      found += std::find(row, row + exact.out_degree, wanted) != row + exact.out_degree;
    }
  }
  return static_cast<double>(found) / static_cast<double>(exact.neighbors.size());
}

}  // namespace interlacer
