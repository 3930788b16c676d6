#include "knn/grid_index.h"

namespace interlacer {

bool CudaGridAvailable() { return false; }

StatusOr<KnnGraph> CudaGridIndex::Graph(std::span<const float>, int) const {
  return Unimplemented(reason::FEATURE_NOT_BUILT, "grid search on CUDA: built without CUDA");
}

}  // namespace interlacer
