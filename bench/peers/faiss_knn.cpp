#include "bench/peers/knn_libraries.h"
#include "knn/knn_index.h"

namespace interlacer::bench {

KnnLibrary Faiss(KnnBackend index) {
  KnnLibrary library{std::string(KnnBackendName(index)), "", nullptr, "built without FAISS"};
  if (!KnnBackendAvailable(index)) return library;
  library.version = "faiss " INTERLACER_BENCH_FAISS_VERSION;
  library.build_and_query = [index](std::span<const float> positions_m, int k) {
    return MakeKnnIndex(index).value()->Graph(positions_m, k).value().neighbors;
  };
  return library;
}

}  // namespace interlacer::bench
