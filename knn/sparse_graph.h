#pragma once

/// Graphs whose nodes have any number of out-edges, and the weighted three-hop lists over them.
///
/// Row i of a SparseGraph is neighbors[offsets[i] .. offsets[i+1]). Determinism: functions of the
/// graph alone, equal for any thread count. Errors: INVALID_ARGUMENT SHAPE_MISMATCH when array
/// sizes disagree or an edge leads nowhere; OUT_OF_RANGE ARGUMENT_INVALID above 2^24 nodes.
/// Thread-safety: pure functions; they use common/thread_pool.h inside.
/// Source: grf-masking, Sec. 3 (undirected graphs), Sec. 3.1 and App. C.3.

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "knn/edge_weight.h"
#include "knn/knn_graph.h"

namespace interlacer {

struct SparseGraph {
  std::int64_t n = 0;
  std::vector<std::int32_t> offsets{0};
  std::vector<std::int32_t> neighbors;
};

/// Converts a neighbour graph; edges keep their order.
StatusOr<SparseGraph> ToSparse(const KnnGraph& graph);
/// Undirected: i - j where i -> j or j -> i. Rows ascend by index and name a node once.
StatusOr<SparseGraph> Symmetrised(const KnnGraph& graph);

/// One weight per edge, in their order. positions_m [n,3] is read for kExpDistance only; a cloud
/// whose median edge length is 0 gets weight 1 on every edge. kUniform gives an undirected graph no
/// symmetric adjacency, the others do.
StatusOr<std::vector<float>> EdgeWeights(const SparseGraph& graph, EdgeWeight weight,
                                         std::span<const float> positions_m);
/// OUT_OF_RANGE where there are too many walks to list, as where very many nodes have one neighbour
/// in common that names them all: above 2^28 from one node, or in all above 2^28 and above those of
/// 32 neighbours at every node, or above what 32 bits count.
Status CheckWalkCount(const SparseGraph& graph);
/// As BuildWalkLists (knn/walk_lists.h) with loads[e,t] = sum over t-hop walks of the product of
/// their edge weights. Errors also those of CheckWalkCount.
StatusOr<WeightedWalkLists> BuildWeightedWalkLists(const SparseGraph& graph,
                                                   std::span<const float> edge_weights);

}  // namespace interlacer
