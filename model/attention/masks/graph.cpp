#include "model/attention/masks/graph.h"

#include <ATen/Functions.h>

#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/number_text.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {
namespace {

SparsePatternPtr PatternOf(const AttentionInputs& inputs) {
  const torch::Tensor offsets = inputs.graph.offsets.contiguous();
  const torch::Tensor neighbors = inputs.graph.neighbors.contiguous();
  const auto* first = offsets.const_data_ptr<std::int64_t>();
  const auto* neighbor = neighbors.const_data_ptr<std::int64_t>();
  return MakePattern(inputs.length(), inputs.length(), {first, first + offsets.numel()},
                     {neighbor, neighbor + neighbors.numel()});
}

torch::Tensor InverseOrZero(const torch::Tensor& x) {
  const torch::Tensor is_zero = x == 0;
  return x.masked_fill(is_zero, 1).reciprocal().masked_fill(is_zero, 0);
}

/// Its gradient is finite where x is 0.
torch::Tensor InverseRootOrZero(const torch::Tensor& x) {
  const torch::Tensor is_zero = x == 0;
  return x.masked_fill(is_zero, 1).rsqrt().masked_fill(is_zero, 0);
}

}  // namespace

Graph AdjacencyOf(const AttentionInputs& inputs) {
  const SparsePatternPtr pattern = PatternOf(inputs);
  const torch::Tensor weights = inputs.graph.weights.defined()
                                    ? inputs.graph.weights.to(at::kDouble).contiguous()
                                    : at::ones({pattern->entry_count()}, at::kDouble);
  return {pattern, weights.reshape({1, -1})};
}

Graph MaskGraphOf(const AttentionInputs& inputs, const std::string& degrees) {
  const Graph graph = AdjacencyOf(inputs);
  return inputs.graph.weights.defined() ? graph : SymmetricallyNormalised(graph, degrees);
}

torch::Tensor DegreesOf(const Graph& graph) {
  return at::zeros({graph.size()}, at::kDouble)
      .index_add(0, RowsOf(*graph.pattern), graph.weights.squeeze(0));
}

torch::Tensor InDegreesOf(const Graph& graph) {
  return at::zeros({graph.size()}, at::kDouble)
      .index_add(0, ColumnsOf(*graph.pattern), graph.weights.squeeze(0));
}

Graph SymmetricallyNormalised(const Graph& graph, const std::string& degrees) {
  const torch::Tensor of_rows = InverseRootOrZero(DegreesOf(graph));
  const torch::Tensor of_columns =
      degrees == "out_in" ? InverseRootOrZero(InDegreesOf(graph)) : of_rows;
  const torch::Tensor weights = graph.weights * of_rows.index_select(0, RowsOf(*graph.pattern)) *
                                of_columns.index_select(0, ColumnsOf(*graph.pattern));
  return {graph.pattern, weights};
}

Graph RowNormalised(const Graph& graph) {
  return {graph.pattern,
          graph.weights * InverseOrZero(DegreesOf(graph)).index_select(0, RowsOf(*graph.pattern))};
}

Graph NonNegative(Graph graph, const char* what) {
  if (graph.weights.numel() > 0 && graph.weights.min().item<double>() < 0) {
    throw StatusException(Mismatch(reason::SCHEMA_INVALID, "graph.weights",
                                   std::string("weights >= 0 for ") + what,
                                   NumberText(graph.weights.min().item<double>())));
  }
  return graph;
}

void RequireUndirected(const Graph& graph, const char* what) {
  const double* weight = graph.weights.const_data_ptr<double>();
  std::map<std::int64_t, double> row, column;
  for (std::int64_t i = 0; i < graph.size(); ++i) {
    row.clear();
    column.clear();
    for (std::int64_t e = graph.pattern->offsets[i]; e < graph.pattern->offsets[i + 1]; ++e) {
      row[graph.pattern->indices[e]] += weight[e];
    }
    for (std::int64_t p = graph.pattern->column_offsets[i];
         p < graph.pattern->column_offsets[i + 1]; ++p) {
      column[graph.pattern->row_of[p]] += weight[graph.pattern->entry_of[p]];
    }
    bool is_equal = row.size() == column.size();
    for (auto a = row.begin(), b = column.begin(); is_equal && a != row.end(); ++a, ++b) {
      // Sums of repeated edges may differ by their order.
      is_equal = a->first == b->first &&
                 std::abs(a->second - b->second) <= 1e-6 * (1e-30 + std::abs(a->second));
    }
    if (!is_equal) {
      throw StatusException(Mismatch(
          reason::SCHEMA_INVALID, "graph",
          std::string("an undirected graph for ") + what + ": i -> j and j -> i of equal weight",
          "edges of token " + std::to_string(i) + " that are not"));
    }
  }
}

SparsePatternPtr ConnectedComponents(const SparsePattern& edges) {
  std::vector<std::int64_t> offsets{0}, tokens;
  std::vector<char> is_reached(static_cast<std::size_t>(edges.rows), 0);
  const auto reach = [&](std::int64_t token) {
    if (is_reached[token] == 0) tokens.push_back(token);
    is_reached[token] = 1;
  };
  for (std::int64_t start = 0; start < edges.rows; ++start) {
    std::size_t head = tokens.size();
    reach(start);
    if (head == tokens.size()) continue;
    for (; head < tokens.size(); ++head) {
      const std::int64_t at = tokens[head];
      for (std::int64_t e = edges.offsets[at]; e < edges.offsets[at + 1]; ++e) {
        reach(edges.indices[e]);
      }
    }
    offsets.push_back(static_cast<std::int64_t>(tokens.size()));
  }
  const auto count = static_cast<std::int64_t>(offsets.size()) - 1;
  return MakePattern(count, edges.rows, std::move(offsets), std::move(tokens));
}

torch::Tensor DenseOf(const Graph& graph) { return ToDense(*graph.pattern, graph.weights)[0]; }

torch::Tensor HopDistances(const Graph& graph) {
  const std::int64_t n = graph.size();
  torch::Tensor distances = at::full({n, n}, -1, at::kLong);
  auto* distance = distances.mutable_data_ptr<std::int64_t>();
  std::vector<std::int64_t> queue;
  for (std::int64_t start = 0; start < n; ++start) {
    std::int64_t* row = distance + start * n;
    queue.assign(1, start);
    row[start] = 0;
    for (std::size_t head = 0; head < queue.size(); ++head) {
      const std::int64_t at = queue[head];
      for (std::int64_t e = graph.pattern->offsets[at]; e < graph.pattern->offsets[at + 1]; ++e) {
        const std::int64_t next = graph.pattern->indices[e];
        if (row[next] != -1) continue;
        row[next] = row[at] + 1;
        queue.push_back(next);
      }
    }
  }
  return distances;
}

WeightedGraph ToWalkGraph(const Graph& graph) {
  if (graph.pattern->entry_count() > std::numeric_limits<std::int32_t>::max()) {
    throw StatusException(
        OutOfRange(reason::SCHEMA_INVALID, "graph: expected at most 2^31 - 1 edges, got " +
                                               std::to_string(graph.pattern->entry_count())));
  }
  const double* weight = graph.weights.const_data_ptr<double>();
  WeightedGraph walks;
  walks.n = graph.size();
  walks.offsets.assign(graph.pattern->offsets.begin(), graph.pattern->offsets.end());
  walks.neighbors.assign(graph.pattern->indices.begin(), graph.pattern->indices.end());
  walks.weights.assign(weight, weight + graph.pattern->entry_count());
  return walks;
}

}  // namespace interlacer::attention
