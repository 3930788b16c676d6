#pragma once

/// The walks of a neighbour graph as index tensors for the gathers of eager attention.
///
///   prefix_ends [T,p] int64, prefix_loads [p,4]      p = 1 + k + k^2 + k^3 separate walks
///   pair_roots, pair_ends [m] int64, pair_loads [m,4]   walks merged by end node
/// The weight of a walk is the product of its loads and |f|, f_0..f_3 the learned coefficients of a
/// layer: a walk of t hops has load k^-t at t, a pair the sum over its walks. Threads: pure
/// functions.

#include "bench/peers/eager_attention.h"
#include "knn/knn_graph.h"

namespace interlacer::bench {

struct WalkIndices {
  at::Tensor prefix_ends, prefix_loads;
  at::Tensor pair_roots, pair_ends, pair_loads;

  WalkPrefixes Prefixes(const at::Tensor& coefficients) const;
  WalkPairs Pairs(const at::Tensor& coefficients) const;
};

/// Loads have the type of `to`; all tensors are on its device.
WalkIndices MakeWalkIndices(const KnnGraph& graph, const WalkLists& lists,
                            const at::TensorOptions& to);

}  // namespace interlacer::bench
