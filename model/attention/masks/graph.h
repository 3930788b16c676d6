#pragma once

/// The graph of an attention's inputs as sparse matrices: adjacency, degrees, normalised forms.
///
/// Weights are those of the input, or without them what a function says. Rows are out-edges;
/// entries may repeat. float64 throughout: [1,E] beside the pattern. Inputs have passed
/// CheckInputs. Errors: StatusException SCHEMA_INVALID at "graph" where a mask needs an
/// undirected graph and an edge lacks its twin of equal weight, and at "graph.weights" where it
/// needs weights >= 0 and one is not. Thread-safety: pure functions.
/// Source: grf-masking, Sec. 3.1; gkat, Sec. 4.

#include <torch/types.h>

#include "model/attention/core/inputs.h"
#include "model/attention/core/mask.h"
#include "model/graph/walk_sampler.h"

namespace interlacer::attention {

struct Graph {
  SparsePatternPtr pattern;
  torch::Tensor weights;  ///< float64 [1,E]

  std::int64_t size() const { return pattern->rows; }
  MaskPairs AsPairs() const { return {pattern, weights}; }
};

/// As given; without weights every edge has weight 1.
Graph AdjacencyOf(const AttentionInputs& inputs);
/// As given; without weights w_ij = 1 / sqrt(d_i d_j), d as `degrees` of SymmetricallyNormalised.
Graph MaskGraphOf(const AttentionInputs& inputs, const std::string& degrees = "out");
/// Sums of a row's weights: float64 [L].
torch::Tensor DegreesOf(const Graph& graph);
/// Sums of a column's weights: float64 [L].
torch::Tensor InDegreesOf(const Graph& graph);
/// w_ij / sqrt(deg_i deg_j), with 1 / 0 := 0. Nodes of no edge have none here either. degrees:
/// "out" sums of rows for both; "out_in" of row i and column j. Equal for undirected graphs.
Graph SymmetricallyNormalised(const Graph& graph, const std::string& degrees = "out");
/// w_ij / deg_i: the hop probabilities of a walk.
Graph RowNormalised(const Graph& graph);
/// Throws unless no weight is below 0; `what` needs it: it takes roots of degrees, or its mask is
/// to be >= 0. The graph itself, for use in an expression.
Graph NonNegative(Graph graph, const char* what);
/// Throws unless the matrix equals its transpose; `what` needs it.
void RequireUndirected(const Graph& graph, const char* what);
/// Connected components of an undirected graph: row c has the tokens of component c. Edges of
/// weight 0 connect too.
SparsePatternPtr ConnectedComponents(const SparsePattern& edges);
/// float64 [L,L].
torch::Tensor DenseOf(const Graph& graph);
/// Numbers of hops of shortest paths along out-edges, -1 where there is none: int64 [L,L].
torch::Tensor HopDistances(const Graph& graph);
WeightedGraph ToWalkGraph(const Graph& graph);

}  // namespace interlacer::attention
