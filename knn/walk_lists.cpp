#include "knn/walk_lists.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>

#include "common/kernels/cpu_features.h"
#include "common/thread_pool.h"
#include "knn/cloud_checks.h"
#include "knn/kernels/walk_rows.h"

namespace interlacer {
namespace {

constexpr std::int64_t kRowsPerChunk = 256;

Status CheckGraph(const KnnGraph& graph) {
  const std::int64_t edges = graph.n * graph.out_degree;
  if (static_cast<std::int64_t>(graph.neighbors.size()) != edges) {
    return Mismatch(reason::SHAPE_MISMATCH, "graph.neighbors", std::to_string(edges) + " values",
                    std::to_string(graph.neighbors.size()));
  }
  bool is_outside = false;
  for (const std::int32_t node : graph.neighbors) is_outside |= node < 0 || node >= graph.n;
  if (is_outside) {
    return OutOfRange(reason::ARGUMENT_INVALID, "graph.neighbors: expected indices below " +
                                                    std::to_string(graph.n) + ", got others");
  }
  if (graph.n > kMaxCloudPoints) {
    return OutOfRange(reason::ARGUMENT_INVALID, "graph.n: expected at most " +
                                                    std::to_string(kMaxCloudPoints) + ", got " +
                                                    std::to_string(graph.n));
  }
  return Status::Ok();
}

WalkRowKernels ChooseKernels(const KnnGraph& graph) {
  const bool wide =
      HostCpuFeatures().avx512 && graph.out_degree == kMaxWalkDegree && graph.n < kMaxCloudPoints;
  return wide ? avx512::GetWalkRowKernels() : cpu::GetWalkRowKernels();
}

/// Turns per-row sizes, stored at offsets[i + 1], into offsets.
void PrefixSum(std::vector<std::int32_t>& offsets) {
  for (std::size_t i = 1; i < offsets.size(); ++i) offsets[i] += offsets[i - 1];
}

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
  // Rows are visited in order, so that the roots of every column ascend.
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
  if (graph.out_degree > kMaxWalkDegree) {
    return Mismatch(reason::ARGUMENT_INVALID, "graph.out_degree",
                    "at most " + std::to_string(kMaxWalkDegree), std::to_string(graph.out_degree));
  }
  WalkLists lists;
  lists.n = graph.n;
  lists.out_degree = graph.out_degree;
  lists.offsets.assign(static_cast<std::size_t>(graph.n + 1), 0);
  const WalkRowKernels kernels = ChooseKernels(graph);
  const WalkGraphView view{graph.neighbors.data(), graph.out_degree};
  const auto two_hops = std::make_unique_for_overwrite<std::uint32_t[]>(
      static_cast<std::size_t>(graph.n * kTwoHopStride));
  ParallelFor(graph.n, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    kernels.merge_two_hops(view, begin, end, two_hops.get());
  });
  // Chunks are first written where they would lie if every row were full, then compacted.
  const auto spread = std::make_unique_for_overwrite<std::uint32_t[]>(
      static_cast<std::size_t>(graph.n * kWalkRowCapacity));
  ParallelFor(graph.n, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    kernels.merge_three_hops(view, two_hops.get(), begin, end, lists.offsets.data() + begin + 1,
                             spread.get() + begin * kWalkRowCapacity);
  });
  PrefixSum(lists.offsets);
  lists.entries.resize(static_cast<std::size_t>(lists.offsets.back()));
  ParallelFor(graph.n, kRowsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    const std::uint32_t* chunk = spread.get() + begin * kWalkRowCapacity;
    std::copy(chunk, chunk + (lists.offsets[end] - lists.offsets[begin]),
              lists.entries.begin() + lists.offsets[begin]);
  });
  return lists;
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
      // c_t / out_degree^t: all walks of t hops have the same load.
      loads[4 * code + hops] = WalkCodeCount(code, hops) * std::pow(edge_weight, hops);
    }
  }
  return loads;
}

}  // namespace interlacer
