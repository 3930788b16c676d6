#pragma once

/// Neighbours through FAISS: all pairs (flat) and an approximate index (inverted file).
///
/// Contract of knn/knn_index.h with two differences. FAISS rounds distances in its own way, so a
/// few more candidates than k are asked for and ordered again by (our distance, index); where more
/// points tie for the last places than were asked for, FAISS chooses among them. The inverted file
/// has a list for every 64 points and visits the nearest 12 lists, so it may miss neighbours; rows
/// it cannot fill are found by looking at all points. The clustering of the lists has a fixed seed:
/// equal inputs give equal bits.
/// Errors: also INTERNAL if FAISS throws.
/// Source: faiss.

#include <memory>

#include "knn/knn_index.h"

namespace interlacer {

/// True if built with FAISS.
bool FaissAvailable();

/// kFaissFlat or kFaissIvf. Null without FAISS.
std::unique_ptr<KnnIndex> MakeFaissIndex(KnnBackend backend);

}  // namespace interlacer
