#pragma once

/// Graphs whose nodes have any number of out-edges, and the weighted three-hop lists over them.
///
/// Row i of a SparseGraph is neighbors[offsets[i] .. offsets[i+1]). Determinism: functions of the
/// graph alone, equal for any thread count. Errors: INVALID_ARGUMENT SHAPE_MISMATCH when array
/// sizes disagree or an edge leads nowhere; OUT_OF_RANGE ARGUMENT_INVALID above 2^24 nodes.
/// Thread-safety: pure functions; they use common/thread_pool.h inside.
/// Source: GRF masking paper, Sec. 3.1 and App. C.3; undirected graphs: Sec. 2.

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "knn/knn_graph.h"
#include "knn/walk_lists.h"

namespace interlacer {

struct SparseGraph {
  std::int64_t n = 0;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int32_t> neighbors;
};

/// The same edges in the same order.
StatusOr<SparseGraph> ToSparse(const KnnGraph& graph);
/// Undirected: i - j where i -> j or j -> i. Rows ascend by index and name a node once.
StatusOr<SparseGraph> Symmetrised(const KnnGraph& graph);

/// One weight per edge, as EdgeWeights of knn/walk_lists.h with the out-degree of each node. Only
/// kInvSqrtDeg and kExpDist give an undirected graph a symmetric adjacency.
StatusOr<std::vector<float>> EdgeWeights(const SparseGraph& graph, EdgeWeighting weighting,
                                         std::span<const float> positions_m);
StatusOr<WeightedWalkLists> BuildWeightedWalkLists(const SparseGraph& graph,
                                                   std::span<const float> edge_weights);

}  // namespace interlacer
