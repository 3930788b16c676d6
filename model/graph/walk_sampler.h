#pragma once

/// Random walks over a weighted directed graph: unbiased estimates of the powers of its adjacency.
///
/// A walk from i halts at a visited node with the halting probability, else hops to one of the d
/// out-neighbours of its node, and ends after max_hops hops or where d = 0. Its load is the running
/// product of W d / (1 - halt_probability). Row i of the result holds, for every node j that a
/// prefix of t hops ended at, (1 / walk_count) sum of loads: an unbiased estimate of (W^t)_ij.
///
/// All samplers are unbiased, because each walker alone has the same distribution;
/// kRepellingPerPrefix has no variance once enumeration fits into walk_count. Walks of different
/// start nodes are independent.
/// Determinism: a function of the graph and the options, equal for any thread count.
/// Errors: INVALID_ARGUMENT ARGUMENT_INVALID for walk_count < 1, or odd with antithetic halting,
/// max_hops < 0 or halt_probability outside [0, 1); SHAPE_MISMATCH for a malformed graph.
/// Threads: pure functions; they use common/thread_pool.h inside.
/// Source: grf-masking, Sec. 3.3 and Alg. 1; repelling-walks.

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"
#include "knn/knn_graph.h"
#include "knn/sparse_graph.h"
#include "model/kernels/walk_sampler_options.h"

namespace interlacer {

/// Weighted edges in CSR form: out-edges of node i are [offsets[i], offsets[i + 1]).
struct WeightedGraph {
  std::int64_t n = 0;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> neighbors;
  std::vector<double> weights;
  /// Numbers that nodes draw their walks by, empty: their places. A part of a larger graph has its
  /// nodes' numbers there, ascending: rows of nodes all of whose max_hops - 1 hops lead to nodes
  /// with all their edges are those of the larger graph, to the bit.
  std::vector<std::int32_t> keys = {};
};

/// `edge_weights` in the form that EdgeWeights returns.
StatusOr<WeightedGraph> ToWeightedGraph(const SparseGraph& graph,
                                        std::span<const float> edge_weights);

/// Walk loads in CSR form, rows sorted by node: nodes [nnz], loads [nnz, max_hops + 1].
struct WalkLoads {
  std::int64_t n = 0;
  int max_hops = 0;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> nodes;
  std::vector<double> loads;
};

/// RESOURCE_EXHAUSTED HOST_MEMORY as soon as there are more than `max_loads` loads.
StatusOr<WalkLoads> SampleWalks(const WeightedGraph& graph, const WalkSamplerOptions& options,
                                std::int64_t max_loads = INT64_MAX);

/// Places in `neighbors` of the edges that every walker from `root` takes, in the walks of
/// SampleWalks, which took the same graph and options.
std::vector<std::vector<std::int64_t>> WalkPaths(const WeightedGraph& graph,
                                                 const WalkSamplerOptions& options,
                                                 std::int32_t root);

/// Converts to the form of the attention kernels; INVALID_ARGUMENT if max_hops is not 3.
StatusOr<WeightedWalkLists> ToWalkLists(const WalkLoads& loads);

}  // namespace interlacer
