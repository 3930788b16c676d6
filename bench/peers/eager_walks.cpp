#include "bench/peers/eager_walks.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include <cmath>
#include <vector>

#include "knn/walk_lists.h"

namespace interlacer::bench {

WalkPrefixes WalkIndices::Prefixes(const at::Tensor& coefficients) const {
  return {prefix_ends, at::matmul(prefix_loads, coefficients.abs())};
}

WalkPairs WalkIndices::Pairs(const at::Tensor& coefficients) const {
  return {pair_roots, pair_ends, at::matmul(pair_loads, coefficients.abs())};
}

WalkIndices MakeWalkIndices(const KnnGraph& graph, const WalkLists& lists,
                            const at::TensorOptions& to) {
  const auto moved = [&](const at::Tensor& indices) { return indices.to(to.device()); };
  WalkIndices walks;
  const at::Tensor neighbors =
      at::tensor(graph.neighbors, at::kInt).to(at::kLong).view({graph.n, graph.out_degree});
  std::vector<at::Tensor> ends{at::arange(graph.n, at::kLong).unsqueeze(1)};
  std::vector<double> prefix_loads;
  for (int hops = 0; hops <= kMaxHops; ++hops) {
    if (hops > 0) {
      ends.push_back(neighbors.index_select(0, ends.back().flatten()).view({graph.n, -1}));
    }
    for (std::int64_t walk = 0; walk < ends.back().size(1); ++walk) {
      for (int t = 0; t <= kMaxHops; ++t) {
        prefix_loads.push_back(t == hops ? std::pow(graph.out_degree, -t) : 0.0);
      }
    }
  }
  walks.prefix_ends = moved(at::cat(ends, 1));
  walks.prefix_loads = at::tensor(prefix_loads, at::kDouble).view({-1, kMaxHops + 1}).to(to);

  std::vector<std::int64_t> roots, nodes, codes;
  for (std::int64_t root = 0; root < lists.n; ++root) {
    for (std::int32_t e = lists.offsets[root]; e < lists.offsets[root + 1]; ++e) {
      roots.push_back(root);
      nodes.push_back(WalkEntryNode(lists.entries[e]));
      codes.push_back(WalkEntryCode(lists.entries[e]));
    }
  }
  walks.pair_roots = moved(at::tensor(roots, at::kLong));
  walks.pair_ends = moved(at::tensor(nodes, at::kLong));
  walks.pair_loads = at::tensor(WalkCodeLoads(lists.out_degree), at::kDouble)
                         .view({-1, kMaxHops + 1})
                         .index_select(0, at::tensor(codes, at::kLong))
                         .to(to);
  return walks;
}

}  // namespace interlacer::bench
