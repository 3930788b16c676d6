#include "knn/knn_index.h"

#include <string>

#include "knn/faiss_index.h"
#include "knn/grid_index.h"

namespace interlacer {

bool KnnBackendAvailable(KnnBackend backend) {
  switch (backend) {
    case KnnBackend::kGrid:
      return true;
    case KnnBackend::kFaissFlat:
    case KnnBackend::kFaissIvf:
      return FaissAvailable();
  }
  return false;
}

StatusOr<std::unique_ptr<KnnIndex>> MakeKnnIndex(KnnBackend backend) {
  if (!KnnBackendAvailable(backend)) {
    return Unimplemented(
        reason::FEATURE_NOT_BUILT,
        "neighbour back end " + std::string(KnnBackendName(backend)) + ": not in this build");
  }
  std::unique_ptr<KnnIndex> index;
  switch (backend) {
    case KnnBackend::kGrid:
      index = std::make_unique<GridIndex>();
      break;
    case KnnBackend::kFaissFlat:
    case KnnBackend::kFaissIvf:
      index = MakeFaissIndex(backend);
      break;
  }
  return index;
}

}  // namespace interlacer
