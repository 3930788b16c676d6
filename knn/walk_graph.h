#pragma once

/// A cloud's neighbour graph, its merged three-hop lists and their transpose, built in one go.
///
/// Everything a local attention layer needs, forward and backward; built once per model step.
/// positions_m [n,3] float32, metres, finite. Errors: those of KnnIndex::Graph and BuildWalkLists.
/// Determinism and thread-safety: as its parts; pure function.

#include <span>

#include "common/status.h"
#include "knn/knn_graph.h"
#include "knn/knn_index.h"

namespace interlacer {

struct WalkGraph {
  KnnGraph graph;
  WalkLists lists;
  TransposedLists transposed;
};

struct WalkGraphOptions {
  KnnBackend backend = KnnBackend::kGrid;
  int k = 3;
  /// Needed by the backward pass only.
  bool with_transposed = true;
};

StatusOr<WalkGraph> BuildWalkGraph(std::span<const float> positions_m,
                                   const WalkGraphOptions& options);

}  // namespace interlacer
