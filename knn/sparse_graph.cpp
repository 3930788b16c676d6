#include "knn/sparse_graph.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <string>

#include "common/number_text.h"
#include "common/thread_pool.h"
#include "knn/cloud_checks.h"
#include "knn/squared_distance.h"
#include "knn/walk_lists.h"

namespace interlacer {
namespace {

constexpr std::int64_t kRootsPerChunk = 256;
/// Walks of one root, which are held together, and those that any graph may have.
constexpr std::int64_t kMaxWalksOfRoot = std::int64_t{1} << 28;
/// Neighbours of a point in the densest graphs in use made symmetric, in the mean at most.
constexpr std::int64_t kUsualDegree = 32;

Status CheckSize(std::int64_t n) {
  if (n <= kMaxCloudPoints) return Status::Ok();
  return OutOfRange(reason::ARGUMENT_INVALID, "graph.n: expected at most " +
                                                  std::to_string(kMaxCloudPoints) + ", got " +
                                                  std::to_string(n));
}

Status CheckGraph(const SparseGraph& graph) {
  INTERLACER_RETURN_IF_ERROR(CheckSize(graph.n));
  const auto edges = static_cast<std::int64_t>(graph.neighbors.size());
  const bool is_shaped = static_cast<std::int64_t>(graph.offsets.size()) == graph.n + 1 &&
                         graph.offsets.front() == 0 && graph.offsets.back() == edges &&
                         std::is_sorted(graph.offsets.begin(), graph.offsets.end());
  if (!is_shaped) {
    return Mismatch(reason::SHAPE_MISMATCH, "graph.offsets",
                    "ascending from 0 to the number of edges, one more than nodes",
                    std::to_string(graph.offsets.size()) + " values");
  }
  for (const std::int32_t j : graph.neighbors) {
    if (j < 0 || j >= graph.n) {
      return Mismatch(reason::SHAPE_MISMATCH, "graph.neighbors",
                      "nodes below " + std::to_string(graph.n), std::to_string(j));
    }
  }
  return Status::Ok();
}

struct WeightedEntry {
  std::int32_t node;
  int hops;
  double load;
};

/// All walks of a root, one entry a walk.
void EnumerateWalks(const SparseGraph& graph, std::span<const float> edge_weights,
                    std::int32_t node, int hops, double load, std::vector<WeightedEntry>& walks) {
  walks.push_back({node, hops, load});
  if (hops == kMaxHops) return;
  for (std::int32_t edge = graph.offsets[node]; edge < graph.offsets[node + 1]; ++edge) {
    EnumerateWalks(graph, edge_weights, graph.neighbors[edge], hops + 1, load * edge_weights[edge],
                   walks);
  }
}

/// Calls visit(edge, from, to) for every edge in order.
template <typename Visit>
void VisitEdges(const SparseGraph& graph, const Visit& visit) {
  for (std::int64_t i = 0; i < graph.n; ++i) {
    for (std::int32_t edge = graph.offsets[i]; edge < graph.offsets[i + 1]; ++edge) {
      visit(static_cast<std::size_t>(edge), static_cast<std::size_t>(i),
            static_cast<std::size_t>(graph.neighbors[edge]));
    }
  }
}

/// Walks from each root. A node that is near to very many has walks from each to each of them.
std::vector<double> CountWalks(const SparseGraph& graph) {
  const auto nodes = static_cast<std::size_t>(graph.n);
  std::vector<double> walks(nodes, 1.0), longer(nodes);
  for (int hop = 0; hop < kMaxHops; ++hop) {
    longer.assign(nodes, 1.0);
    VisitEdges(graph, [&](std::size_t, std::size_t i, std::size_t j) { longer[i] += walks[j]; });
    walks.swap(longer);
  }
  return walks;
}

/// Lists are indexed by 32 bits.
std::int64_t MaxWalkCount(std::int64_t n) {
  constexpr std::int64_t d = kUsualDegree;
  return std::min<std::int64_t>(std::max(kMaxWalksOfRoot, n * (1 + d + d * d + d * d * d)),
                                std::numeric_limits<std::int32_t>::max());
}

std::vector<float> SquaredEdgeLengths(const SparseGraph& graph,
                                      std::span<const float> positions_m) {
  std::vector<float> sq_lengths_m2(graph.neighbors.size());
  VisitEdges(graph, [&](std::size_t edge, std::size_t i, std::size_t j) {
    sq_lengths_m2[edge] = SquaredDistance(&positions_m[3 * i], &positions_m[3 * j]);
  });
  return sq_lengths_m2;
}

float MedianLength(const std::vector<float>& sq_lengths_m2) {
  std::vector<float> lengths_m(sq_lengths_m2.size());
  std::transform(sq_lengths_m2.begin(), sq_lengths_m2.end(), lengths_m.begin(),
                 [](float sq) { return std::sqrt(sq); });
  const auto middle = lengths_m.begin() + static_cast<std::ptrdiff_t>(lengths_m.size() / 2);
  std::nth_element(lengths_m.begin(), middle, lengths_m.end());
  return *middle;
}

}  // namespace

StatusOr<SparseGraph> ToSparse(const KnnGraph& graph) {
  INTERLACER_RETURN_IF_ERROR(CheckSize(graph.n));
  const std::int64_t edges = graph.n * graph.out_degree;
  if (static_cast<std::int64_t>(graph.neighbors.size()) != edges) {
    return Mismatch(reason::SHAPE_MISMATCH, "graph.neighbors", std::to_string(edges) + " values",
                    std::to_string(graph.neighbors.size()));
  }
  SparseGraph sparse{graph.n, {}, graph.neighbors};
  for (std::int64_t i = 0; i <= graph.n; ++i) {
    sparse.offsets.push_back(static_cast<std::int32_t>(i * graph.out_degree));
  }
  return sparse;
}

StatusOr<SparseGraph> Symmetrised(const KnnGraph& graph) {
  INTERLACER_ASSIGN_OR_RETURN(const SparseGraph directed, ToSparse(graph));
  INTERLACER_RETURN_IF_ERROR(CheckGraph(directed));
  std::vector<std::vector<std::int32_t>> rows(static_cast<std::size_t>(graph.n));
  VisitEdges(directed, [&](std::size_t, std::size_t i, std::size_t j) {
    rows[i].push_back(static_cast<std::int32_t>(j));
    rows[j].push_back(static_cast<std::int32_t>(i));
  });
  SparseGraph both{graph.n, {0}, {}};
  for (std::vector<std::int32_t>& row : rows) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    both.neighbors.insert(both.neighbors.end(), row.begin(), row.end());
    both.offsets.push_back(static_cast<std::int32_t>(both.neighbors.size()));
  }
  return both;
}

StatusOr<std::vector<float>> EdgeWeights(const SparseGraph& graph, EdgeWeight weight,
                                         std::span<const float> positions_m) {
  INTERLACER_RETURN_IF_ERROR(CheckGraph(graph));
  std::vector<float> weights(graph.neighbors.size());
  if (weights.empty()) return weights;
  const auto out_degree = [&](std::size_t i) {
    return static_cast<double>(graph.offsets[i + 1] - graph.offsets[i]);
  };
  switch (weight) {
    case EdgeWeight::kUniform:
      VisitEdges(graph, [&](std::size_t edge, std::size_t i, std::size_t) {
        weights[edge] = 1.0f / static_cast<float>(out_degree(i));
      });
      break;
    case EdgeWeight::kExpDistance: {
      if (static_cast<std::int64_t>(positions_m.size()) != 3 * graph.n) {
        return Mismatch(reason::SHAPE_MISMATCH, "positions_m",
                        std::to_string(3 * graph.n) + " values",
                        std::to_string(positions_m.size()));
      }
      const std::vector<float> sq_lengths_m2 = SquaredEdgeLengths(graph, positions_m);
      const double scale_m = MedianLength(sq_lengths_m2);
      std::transform(sq_lengths_m2.begin(), sq_lengths_m2.end(), weights.begin(), [&](double sq) {
        return scale_m == 0 ? 1.0f : static_cast<float>(std::exp(-sq / (2 * scale_m * scale_m)));
      });
      break;
    }
    case EdgeWeight::kInverseSqrtDegree: {
      std::vector<double> in_degree(static_cast<std::size_t>(graph.n), 0);
      for (const std::int32_t j : graph.neighbors) ++in_degree[j];
      VisitEdges(graph, [&](std::size_t edge, std::size_t i, std::size_t j) {
        weights[edge] = static_cast<float>(1 / std::sqrt(out_degree(i) * in_degree[j]));
      });
      break;
    }
  }
  return weights;
}

Status CheckWalkCount(const SparseGraph& graph) {
  INTERLACER_RETURN_IF_ERROR(CheckGraph(graph));
  const std::vector<double> walks = CountWalks(graph);
  const auto check = [](const char* of, double count, std::int64_t most) -> Status {
    if (count <= static_cast<double>(most)) return Status::Ok();
    return OutOfRange(reason::ARGUMENT_INVALID,
                      "graph.neighbors: expected at most " + std::to_string(most) + " walks" + of +
                          ", got " + NumberText(count) +
                          "; do many points share one place, so that it is a neighbour of all?")
        .WithField("graph.neighbors");
  };
  for (const double count : walks) {
    INTERLACER_RETURN_IF_ERROR(check(" from a node", count, kMaxWalksOfRoot));
  }
  return check("", std::accumulate(walks.begin(), walks.end(), 0.0), MaxWalkCount(graph.n));
}

StatusOr<WeightedWalkLists> BuildWeightedWalkLists(const SparseGraph& graph,
                                                   std::span<const float> edge_weights) {
  INTERLACER_RETURN_IF_ERROR(CheckWalkCount(graph));
  if (edge_weights.size() != graph.neighbors.size()) {
    return Mismatch(reason::SHAPE_MISMATCH, "edge_weights",
                    std::to_string(graph.neighbors.size()) + " values",
                    std::to_string(edge_weights.size()));
  }
  WeightedWalkLists lists;
  lists.n = graph.n;
  lists.offsets.assign(static_cast<std::size_t>(graph.n + 1), 0);
  struct Chunk {
    std::vector<std::int32_t> nodes;
    std::vector<float> loads;
  };
  std::vector<Chunk> chunks(
      static_cast<std::size_t>((graph.n + kRootsPerChunk - 1) / kRootsPerChunk));
  ParallelFor(graph.n, kRootsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    Chunk& chunk = chunks[begin / kRootsPerChunk];
    std::vector<WeightedEntry> walks;
    for (std::int64_t i = begin; i < end; ++i) {
      walks.clear();
      EnumerateWalks(graph, edge_weights, static_cast<std::int32_t>(i), 0, 1.0, walks);
      // Walks to one node become neighbours in a fixed order, so that sums of loads are
      // reproducible.
      std::stable_sort(
          walks.begin(), walks.end(),
          [](const WeightedEntry& a, const WeightedEntry& b) { return a.node < b.node; });
      const std::size_t row_begin = chunk.nodes.size();
      for (std::size_t w = 0; w < walks.size();) {
        double load[kMaxHops + 1] = {};
        const std::int32_t node = walks[w].node;
        for (; w < walks.size() && walks[w].node == node; ++w) load[walks[w].hops] += walks[w].load;
        chunk.nodes.push_back(node);
        for (const double value : load) chunk.loads.push_back(static_cast<float>(value));
      }
      lists.offsets[i + 1] = static_cast<std::int32_t>(chunk.nodes.size() - row_begin);
    }
  });
  for (std::int64_t i = 0; i < graph.n; ++i) lists.offsets[i + 1] += lists.offsets[i];
  for (const Chunk& chunk : chunks) {
    lists.nodes.insert(lists.nodes.end(), chunk.nodes.begin(), chunk.nodes.end());
    lists.loads.insert(lists.loads.end(), chunk.loads.begin(), chunk.loads.end());
  }
  return lists;
}

}  // namespace interlacer
