#pragma once

/// Merged lists of all walks of up to three hops over a neighbour graph.
///
/// Row i holds every end node j of a walk i -> j once, rows ordered by j, self (zero hops)
/// included; for each j the number of walks of 0, 1, 2 and 3 hops. The graph is directed; rows
/// follow out-edges. Sums over walks of products of edge weights: knn/sparse_graph.h.
/// Determinism: a function of the graph alone, equal for any thread count.
/// Errors: INVALID_ARGUMENT ARGUMENT_INVALID for out_degree > 3 (packed counts would overflow),
/// OUT_OF_RANGE ARGUMENT_INVALID above 2^24 nodes, SHAPE_MISMATCH when array sizes disagree.
/// Thread-safety: pure functions; they use common/thread_pool.h inside.
/// Source: grf-masking, Sec. 3.1 (power series of the adjacency), App. C.3 (k = 3, 3 hops).

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "knn/knn_graph.h"

namespace interlacer {

inline constexpr int kMaxHops = 3;

/// Number of walks of kMaxHops hops from a node with `degree` neighbours, each kept apart; the walk
/// that stays where it is counts where there are none.
constexpr std::int64_t WalkCount(std::int64_t degree) {
  static_assert(kMaxHops == 3);
  return degree > 0 ? degree * degree * degree : 1;
}

/// Merges the lists of up to two hops of a root's neighbours, and those of one hop before them.
StatusOr<WalkLists> BuildWalkLists(const KnnGraph& graph);

/// Regroups the entries by end node, in O(nnz).
TransposedLists Transpose(const WalkLists& lists);
TransposedLists Transpose(const WeightedWalkLists& lists);

/// [256,4] row-major: entry (code, t) is c_t(code) / out_degree^t, so that the weight of a packed
/// entry is the product of its row with the coefficients F_0..F_3.
std::vector<double> WalkCodeLoads(int out_degree);

}  // namespace interlacer
