#pragma once

/// Small neighbour graphs, and their walk lists by enumeration.

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "common/random.h"
#include "knn/kernels/walk_rows.h"

namespace interlacer::testing {

struct WalkTestGraph {
  std::string name;
  int n = 0;
  int degree = 0;
  std::vector<std::int32_t> neighbors;
};

/// Neighbours drawn with repetition, the node itself among them.
inline WalkTestGraph RandomGraph(int n, int degree, std::uint64_t seed) {
  RandomSequence random(seed + n, RandomStream::kDataGeneration);
  WalkTestGraph graph{
      "random " + std::to_string(n) + ", degree " + std::to_string(degree), n, degree, {}};
  for (int e = 0; e < n * degree; ++e) {
    graph.neighbors.push_back(static_cast<std::int32_t>(random.Below(n)));
  }
  return graph;
}

/// The neighbours of every node are the first three nodes: three columns hold all rows.
inline WalkTestGraph HubGraph(int n) {
  WalkTestGraph graph{"hubs " + std::to_string(n), n, 3, {}};
  for (int i = 0; i < n; ++i) {
    for (int r = 0; r < 3; ++r) graph.neighbors.push_back(r);
  }
  return graph;
}

/// Every node repeats one neighbour: 27 walks of three hops, of which the code counts up to 15.
inline WalkTestGraph RingGraph(int n) {
  WalkTestGraph graph{"ring", n, 3, {}};
  for (int i = 0; i < n; ++i) graph.neighbors.insert(graph.neighbors.end(), 3, (i + 1) % n);
  return graph;
}

struct WalkTestLists {
  std::vector<std::int32_t> offsets{0};
  std::vector<std::uint32_t> entries;
  std::vector<std::int32_t> column_offsets{0}, roots, entry_index;
};

/// Reference: adds every walk of up to three hops, one by one, by end node.
inline WalkTestLists EnumerateWalks(const WalkTestGraph& graph) {
  WalkTestLists lists;
  std::vector<std::vector<std::array<std::int32_t, 2>>> columns(graph.n);
  for (std::int32_t i = 0; i < graph.n; ++i) {
    std::map<std::int32_t, std::uint32_t> codes;
    const auto visit = [&](const auto& self, std::int32_t node, int hops) -> void {
      codes[node] += kOnePath[hops];
      if (hops == 3) return;
      for (int r = 0; r < graph.degree; ++r) {
        self(self, graph.neighbors[node * graph.degree + r], hops + 1);
      }
    };
    visit(visit, i, 0);
    for (const auto& [node, code] : codes) {
      columns[node].push_back({i, static_cast<std::int32_t>(lists.entries.size())});
      lists.entries.push_back(static_cast<std::uint32_t>(node) | code << 24);
    }
    lists.offsets.push_back(static_cast<std::int32_t>(lists.entries.size()));
  }
  for (const auto& column : columns) {
    for (const auto& [root, entry] : column) {
      lists.roots.push_back(root);
      lists.entry_index.push_back(entry);
    }
    lists.column_offsets.push_back(static_cast<std::int32_t>(lists.roots.size()));
  }
  return lists;
}

}  // namespace interlacer::testing
