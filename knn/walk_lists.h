#pragma once

/// Merged lists of all walks of up to three hops over a neighbour graph.
///
/// Row i holds every end node j of a walk i -> j once, rows ordered by j, self (zero hops)
/// included; for each j the number of walks of 0, 1, 2 and 3 hops, or the sum of their products of
/// edge weights. The graph is directed; rows follow out-edges.
/// Determinism: a function of the graph alone, equal for any thread count.
/// Errors: INVALID_ARGUMENT ARGUMENT_INVALID for out_degree > 3 (packed counts would overflow),
/// OUT_OF_RANGE ARGUMENT_INVALID above 2^24 nodes, SHAPE_MISMATCH when array sizes disagree.
/// Thread-safety: pure functions; they use common/thread_pool.h inside.
/// Source: GRF masking paper, Sec. 3.1 (power series of the adjacency), App. C.3 (k = 3, 3 hops).

#include <span>
#include <vector>

#include "common/status.h"
#include "knn/knn_graph.h"

namespace interlacer {

inline constexpr int kMaxHops = 3;

/// Merges the lists of up to two hops of a root's neighbours, and those of one hop before them.
StatusOr<WalkLists> BuildWalkLists(const KnnGraph& graph);

/// How much an edge i -> j weighs.
enum class EdgeWeighting {
  kConstant,    ///< 1 / out_degree
  kExpDist,     ///< exp(-|x_i - x_j|^2 / (2 s^2)), s = median edge length
  kInvSqrtDeg,  ///< 1 / sqrt(out_degree_i * in_degree_j)
};

/// One weight per edge, [n, out_degree] like graph.neighbors. positions_m [n,3] is read for
/// kExpDist only. A cloud whose median edge length is 0 gets weight 1 on every edge.
StatusOr<std::vector<float>> EdgeWeights(const KnnGraph& graph, EdgeWeighting weighting,
                                         std::span<const float> positions_m);

/// As BuildWalkLists with loads[e,t] = sum over t-hop walks of the product of their edge weights.
/// Any out-degree.
StatusOr<WeightedWalkLists> BuildWeightedWalkLists(const KnnGraph& graph,
                                                   std::span<const float> edge_weights);

/// Counts turned into loads: c_t / out_degree^t.
WeightedWalkLists ToWeighted(const WalkLists& lists);

/// By end node. O(nnz).
TransposedLists Transpose(const WalkLists& lists);
TransposedLists Transpose(const WeightedWalkLists& lists);

/// [256,4] row-major: entry (code, t) is c_t(code) / out_degree^t, so that the weight of a packed
/// entry is the product of its row with the coefficients F_0..F_3.
std::vector<double> WalkCodeLoads(int out_degree);

}  // namespace interlacer
