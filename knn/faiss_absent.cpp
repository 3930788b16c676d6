#include "knn/faiss_index.h"

namespace interlacer {

bool FaissAvailable() { return false; }

std::unique_ptr<KnnIndex> MakeFaissIndex(KnnBackend) { return nullptr; }

}  // namespace interlacer
