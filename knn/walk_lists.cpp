#include "knn/walk_lists.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/thread_pool.h"
#include "knn/cloud_checks.h"
#include "knn/sparse_graph.h"

namespace interlacer {
namespace {

constexpr std::int64_t kRootsPerChunk = 256;
constexpr int kMaxPackedDegree = 3;
constexpr int kMaxRowEntries = 1 + 3 + 9 + 27;

Status CheckGraph(const KnnGraph& graph) {
  const std::int64_t edges = graph.n * graph.out_degree;
  if (static_cast<std::int64_t>(graph.neighbors.size()) != edges) {
    return Mismatch(reason::SHAPE_MISMATCH, "graph.neighbors", std::to_string(edges) + " values",
                    std::to_string(graph.neighbors.size()));
  }
  if (graph.n > kMaxCloudPoints) {
    return OutOfRange(reason::ARGUMENT_INVALID, "graph.n: expected at most " +
                                                    std::to_string(kMaxCloudPoints) + ", got " +
                                                    std::to_string(graph.n));
  }
  return Status::Ok();
}

/// One row under construction: few distinct nodes, so a linear search finds the slot.
struct PackedRow {
  std::uint32_t nodes[kMaxRowEntries];
  std::uint32_t codes[kMaxRowEntries];  // counts in the high byte, as PackWalkEntry puts them
  int size = 0;

  void Add(std::uint32_t node, std::uint32_t one_path) {
    for (int s = 0; s < size; ++s) {
      if (nodes[s] == node) {
        codes[s] += one_path;
        return;
      }
    }
    nodes[size] = node;
    codes[size++] = one_path;
  }
};

void EnumerateRow(const KnnGraph& graph, std::int32_t root, PackedRow& row) {
  const int degree = graph.out_degree;
  const auto neighbors = [&](std::int32_t node) {
    return std::span<const std::int32_t>(
        graph.neighbors.data() + static_cast<std::int64_t>(node) * degree,
        static_cast<std::size_t>(degree));
  };
  row.size = 0;
  row.Add(root, PackWalkEntry(0, 1, 0, 0, 0));
  for (const std::int32_t a : neighbors(root)) {
    row.Add(a, PackWalkEntry(0, 0, 1, 0, 0));
    for (const std::int32_t b : neighbors(a)) {
      row.Add(b, PackWalkEntry(0, 0, 0, 1, 0));
      for (const std::int32_t c : neighbors(b)) row.Add(c, PackWalkEntry(0, 0, 0, 0, 1));
    }
  }
}

/// Packed entries of a row, ordered by node.
int SortedEntries(const PackedRow& row, std::uint32_t* entries) {
  for (int s = 0; s < row.size; ++s) {
    int place = s;
    for (; place > 0 && WalkEntryNode(entries[place - 1]) > row.nodes[s]; --place) {
      entries[place] = entries[place - 1];
    }
    entries[place] = row.nodes[s] | row.codes[s];
  }
  return row.size;
}

/// Turns per-row sizes, stored at offsets[i + 1], into offsets.
void PrefixSum(std::vector<std::int32_t>& offsets) {
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
}

std::int64_t ChunkCount(std::int64_t n) { return (n + kRootsPerChunk - 1) / kRootsPerChunk; }

template <typename NodeOf>
TransposedLists TransposeRows(std::int64_t n, const std::vector<std::int32_t>& offsets,
                              const NodeOf& node_of) {
  TransposedLists transposed;
  const std::int64_t nnz = n == 0 ? 0 : offsets[n];
  transposed.offsets.assign(static_cast<std::size_t>(n + 1), 0);
  transposed.roots.resize(static_cast<std::size_t>(nnz));
  transposed.entry_index.resize(static_cast<std::size_t>(nnz));
  for (std::int64_t e = 0; e < nnz; ++e) ++transposed.offsets[node_of(e) + 1];
  PrefixSum(transposed.offsets);
  std::vector<std::int32_t> next(transposed.offsets.begin(), transposed.offsets.end());
  for (std::int64_t i = 0; i < n; ++i) {
    for (std::int32_t e = offsets[i]; e < offsets[i + 1]; ++e) {
      const std::int32_t place = next[node_of(e)]++;
      transposed.roots[place] = static_cast<std::int32_t>(i);
      transposed.entry_index[place] = e;
    }
  }
  return transposed;
}

}  // namespace

StatusOr<WalkLists> BuildWalkLists(const KnnGraph& graph) {
  INTERLACER_RETURN_IF_ERROR(CheckGraph(graph));
  if (graph.out_degree > kMaxPackedDegree) {
    return Mismatch(reason::ARGUMENT_INVALID, "graph.out_degree",
                    "at most " + std::to_string(kMaxPackedDegree),
                    std::to_string(graph.out_degree));
  }
  WalkLists lists;
  lists.n = graph.n;
  lists.out_degree = graph.out_degree;
  lists.offsets.assign(static_cast<std::size_t>(graph.n + 1), 0);
  std::vector<std::vector<std::uint32_t>> chunks(static_cast<std::size_t>(ChunkCount(graph.n)));
  ParallelFor(graph.n, kRootsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    std::vector<std::uint32_t>& chunk = chunks[begin / kRootsPerChunk];
    chunk.resize(static_cast<std::size_t>((end - begin) * kMaxRowEntries));
    std::size_t used = 0;
    PackedRow row;
    for (std::int64_t i = begin; i < end; ++i) {
      EnumerateRow(graph, static_cast<std::int32_t>(i), row);
      lists.offsets[i + 1] = SortedEntries(row, chunk.data() + used);
      used += static_cast<std::size_t>(row.size);
    }
    chunk.resize(used);
  });
  PrefixSum(lists.offsets);
  lists.entries.resize(static_cast<std::size_t>(lists.offsets.back()));
  ParallelFor(graph.n, kRootsPerChunk, [&](std::int64_t begin, std::int64_t) {
    const std::vector<std::uint32_t>& chunk = chunks[begin / kRootsPerChunk];
    std::copy(chunk.begin(), chunk.end(), lists.entries.begin() + lists.offsets[begin]);
  });
  return lists;
}

StatusOr<std::vector<float>> EdgeWeights(const KnnGraph& graph, EdgeWeighting weighting,
                                         std::span<const float> positions_m) {
  INTERLACER_ASSIGN_OR_RETURN(const SparseGraph sparse, ToSparse(graph));
  return EdgeWeights(sparse, weighting, positions_m);
}

StatusOr<WeightedWalkLists> BuildWeightedWalkLists(const KnnGraph& graph,
                                                   std::span<const float> edge_weights) {
  INTERLACER_ASSIGN_OR_RETURN(const SparseGraph sparse, ToSparse(graph));
  return BuildWeightedWalkLists(sparse, edge_weights);
}

WeightedWalkLists ToWeighted(const WalkLists& lists) {
  const std::vector<double> code_loads = WalkCodeLoads(lists.out_degree);
  WeightedWalkLists weighted;
  weighted.n = lists.n;
  weighted.offsets = lists.offsets;
  weighted.nodes.reserve(lists.entries.size());
  weighted.loads.reserve(4 * lists.entries.size());
  for (const std::uint32_t entry : lists.entries) {
    weighted.nodes.push_back(static_cast<std::int32_t>(WalkEntryNode(entry)));
    for (int hops = 0; hops <= kMaxHops; ++hops) {
      weighted.loads.push_back(static_cast<float>(code_loads[4 * WalkEntryCode(entry) + hops]));
    }
  }
  return weighted;
}

TransposedLists Transpose(const WalkLists& lists) {
  return TransposeRows(lists.n, lists.offsets, [&](std::int64_t e) {
    return static_cast<std::int64_t>(WalkEntryNode(lists.entries[e]));
  });
}

TransposedLists Transpose(const WeightedWalkLists& lists) {
  return TransposeRows(lists.n, lists.offsets,
                       [&](std::int64_t e) { return static_cast<std::int64_t>(lists.nodes[e]); });
}

std::vector<double> WalkCodeLoads(int out_degree) {
  std::vector<double> loads(256 * 4);
  const double edge_weight = out_degree > 0 ? 1.0 / out_degree : 1.0;
  for (std::uint32_t code = 0; code < 256; ++code) {
    for (int hops = 0; hops <= kMaxHops; ++hops) {
      loads[4 * code + hops] = WalkCodeCount(code, hops) * std::pow(edge_weight, hops);
    }
  }
  return loads;
}

}  // namespace interlacer
