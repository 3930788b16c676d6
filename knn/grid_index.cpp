#include "knn/grid_index.h"

#include <algorithm>
#include <vector>

#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "knn/cloud_checks.h"
#include "knn/kernels/grid_knn.h"

namespace interlacer {
namespace {

constexpr std::int64_t kQueriesPerChunk = 512;

}  // namespace

StatusOr<KnnGraph> GridIndex::Graph(std::span<const float> positions_m, int k) const {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t n, CheckCloud(positions_m, k));
  KnnGraph graph;
  graph.n = n;
  if (n <= 1) return graph;
  graph.out_degree = static_cast<int>(std::min<std::int64_t>(k, n - 1));
  graph.neighbors.resize(static_cast<std::size_t>(n * graph.out_degree));

  const CellGrid grid = ChooseCellGrid(positions_m);
  std::vector<float> coordinates_m(static_cast<std::size_t>(3 * n));
  std::vector<std::int32_t> integers(static_cast<std::size_t>(2 * n + grid.cell_count() + 1));
  CellSortBuffers buffers;
  buffers.x_m = coordinates_m.data();
  buffers.y_m = buffers.x_m + n;
  buffers.z_m = buffers.y_m + n;
  buffers.index = integers.data();
  buffers.cell_of_point = buffers.index + n;
  buffers.cell_begin = buffers.cell_of_point + n;
  const CellSortedCloud cloud = SortIntoCells(grid, positions_m.data(), n, buffers);

  const auto grid_neighbors = INTERLACER_FORM_OF_HOST(GridNeighbors);
  ParallelFor(n, kQueriesPerChunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<float> best_sq_dist(static_cast<std::size_t>(graph.out_degree));
    std::vector<std::int32_t> best_index(static_cast<std::size_t>(graph.out_degree));
    grid_neighbors(grid, cloud, graph.out_degree, begin, end, best_sq_dist.data(),
                   best_index.data(), graph.neighbors.data());
  });
  return graph;
}

}  // namespace interlacer
