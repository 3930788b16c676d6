#pragma once

/// The directed graph of nearest neighbours and the three-hop walk lists over it.
///
/// KnnGraph::neighbors is [n, out_degree] int32, out_degree = min(k, n-1), each row ordered by
/// (squared distance, index), self excluded by index. Value types. Source: grf-masking, App. C.3.

#include <cstdint>
#include <vector>

#include "common/kernels/walk_entry.h"

namespace interlacer {

struct KnnGraph {
  std::int64_t n = 0;
  int out_degree = 0;
  std::vector<std::int32_t> neighbors;
};

/// All end nodes of walks of 0..3 hops of every root, merged, ordered by node, with path counts.
///   offsets  [n+1] int32       entries  [offsets[n]] uint32, see common/kernels/walk_entry.h
/// Only for out_degree <= 3, where c0 <= 1, c1 <= 1, c2 <= 3, c3 <= 9.
struct WalkLists {
  std::int64_t n = 0;
  int out_degree = 0;
  std::vector<std::int32_t> offsets;
  std::vector<std::uint32_t> entries;
};

inline std::uint32_t WalkEntryNode(std::uint32_t entry) { return entry & kWalkNodeMask; }
/// Read on its own by tests and the benchmark, which take lists apart.
inline std::uint32_t WalkEntryCode(std::uint32_t entry) { return entry >> kWalkCodeShift; }
/// Number of paths of `hops` (0..3) hops in an 8-bit code.
inline int WalkCodeCount(std::uint32_t code, int hops) {
  constexpr int kShift[4] = {0, 1, 2, 4};
  constexpr std::uint32_t kMask[4] = {1, 1, 3, 15};
  return static_cast<int>((code >> kShift[hops]) & kMask[hops]);
}

/// Lists with real loads: sampled walks, or weights that are not constant on edges.
///   nodes [nnz] int32    loads [nnz,4] float32, loads[e,t] = estimate of (W^t)_{i,nodes[e]}
struct WeightedWalkLists {
  std::int64_t n = 0;
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> nodes;
  std::vector<float> loads;
};

/// Transpose of walk lists: for end node j the rows i that list it, ascending, and the position of
/// the entry in the forward arrays. Serves the backward pass without atomics.
///   offsets [n+1], roots [nnz], entry_index [nnz]
struct TransposedLists {
  std::vector<std::int32_t> offsets;
  std::vector<std::int32_t> roots;
  std::vector<std::int32_t> entry_index;
};

}  // namespace interlacer
