#pragma once

/// All walks of a weighted graph by powers of its weights: the oracle of walk samplers.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "model/graph/walk_sampler.h"

namespace interlacer::testing {

/// loads[e, t] = (W^t)_ij. Rows hold every node within `max_hops` hops.
inline WalkLoads EnumerateWalks(const WeightedGraph& graph, int max_hops) {
  WalkLoads walks;
  walks.n = graph.n;
  walks.max_hops = max_hops;
  walks.offsets = {0};
  for (std::int32_t root = 0; root < graph.n; ++root) {
    // A map keeps the row sorted by node, which fixes the order of sums.
    std::map<std::int32_t, double> row = {{root, 1.0}};
    std::map<std::int32_t, std::vector<double>> loads_of;
    for (int hops = 0; hops <= max_hops; ++hops) {
      std::map<std::int32_t, double> next;
      for (const auto& [node, load] : row) {
        std::vector<double>& loads = loads_of[node];
        loads.resize(static_cast<std::size_t>(max_hops) + 1);
        loads[static_cast<std::size_t>(hops)] = load;
        for (std::int32_t e = graph.offsets[node]; e < graph.offsets[node + 1]; ++e) {
          next[graph.neighbors[e]] += load * graph.weights[e];
        }
      }
      row = std::move(next);
    }
    for (const auto& [node, loads] : loads_of) {
      walks.nodes.push_back(node);
      walks.loads.insert(walks.loads.end(), loads.begin(), loads.end());
    }
    walks.offsets.push_back(static_cast<std::int32_t>(walks.nodes.size()));
  }
  return walks;
}

}  // namespace interlacer::testing
