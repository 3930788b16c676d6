#pragma once

/// The gate of neighbour graphs. Pure function.

#include <cstdint>
#include <vector>

#include "bench/case.h"
#include "knn/knn_graph.h"

namespace interlacer::bench {

/// Checks rows drawn by `seed` against brute force: smaller squared distance, then smaller index.
/// The error counts wrong edges; recall ignores their order.
GateResult CheckNeighbors(const std::vector<float>& positions_m, const KnnGraph& graph,
                          std::uint64_t seed);

}  // namespace interlacer::bench
