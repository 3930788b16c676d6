#include "knn/faiss_index.h"

namespace interlacer {

bool FaissAvailable() { return false; }

std::unique_ptr<KnnIndex> MakeFaissIndex(FaissKind) { return nullptr; }

}  // namespace interlacer
