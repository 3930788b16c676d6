#pragma once

/// Neighbours through FAISS: a second oracle (flat) and an approximate index (inverted file).
///
/// Contract of knn/knn_index.h with two differences: FAISS rounds distances in its own way, so a
/// few more candidates than k are asked for and ordered again by our distance; a tie may still be
/// decided differently. The inverted file visits the nearest lists only, so it may miss neighbours;
/// rows it cannot fill are found by brute force. Equal inputs give equal bits.
/// Errors: also INTERNAL if FAISS throws.

#include <memory>

#include "knn/knn_index.h"

namespace interlacer {

enum class FaissKind { kFlat, kIvf };

/// True if built with FAISS.
bool FaissAvailable();

/// Null without FAISS.
std::unique_ptr<KnnIndex> MakeFaissIndex(FaissKind kind);

}  // namespace interlacer
