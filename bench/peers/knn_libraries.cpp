#include "bench/peers/knn_libraries.h"

namespace interlacer::bench {

std::vector<KnnLibrary> KnnLibraries() {
  return {Nanoflann(), Faiss(KnnBackend::kFaissFlat), Faiss(KnnBackend::kFaissIvf), Open3dTree()};
}

}  // namespace interlacer::bench
