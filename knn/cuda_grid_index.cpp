#include <algorithm>
#include <string>

#include "knn/cloud_checks.h"
#include "knn/grid_index.h"
#include "knn/kernels/grid_knn_cuda.h"

namespace interlacer {

bool CudaGridAvailable() { return CudaDeviceCount() > 0; }

StatusOr<KnnGraph> CudaGridIndex::Graph(std::span<const float> positions_m, int k) const {
  INTERLACER_ASSIGN_OR_RETURN(const std::int64_t n, CheckCloud(positions_m, k));
  KnnGraph graph;
  graph.n = n;
  if (n <= 1) return graph;
  graph.out_degree = static_cast<int>(std::min<std::int64_t>(k, n - 1));
  if (graph.out_degree > kMaxCudaNeighbors) {
    return Mismatch(reason::ARGUMENT_INVALID, "k", "at most " + std::to_string(kMaxCudaNeighbors),
                    std::to_string(k));
  }
  graph.neighbors.resize(static_cast<std::size_t>(n * graph.out_degree));
  const int error = GridKnnFromHost(ChooseCellGrid(positions_m), positions_m.data(), n,
                                    graph.out_degree, graph.neighbors.data());
  if (error != 0) return Internal(std::string("grid search on CUDA: ") + CudaErrorText(error));
  return graph;
}

}  // namespace interlacer
