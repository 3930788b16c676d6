#pragma once

/// Recall of an approximate neighbour graph: the share of the true neighbours that it contains,
/// over all rows; 1 for graphs without edges.
/// Both graphs have the same n and out_degree. Pure function, thread-safe.

#include "knn/knn_graph.h"

namespace interlacer {

double Recall(const KnnGraph& graph, const KnnGraph& exact);

}  // namespace interlacer
