#include "model/graph/token_neighbors.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>

#include "knn/knn_index.h"
#include "model/graph/device_walks.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

void CheckDegree(std::int64_t member_count, std::int64_t out_degree, int k) {
  if (out_degree == k) return;
  ThrowIfError(Mismatch(reason::ARGUMENT_INVALID, "graph.scope",
                        "more than " + std::to_string(k) + " tokens of each time",
                        std::to_string(member_count)));
}

/// Tokens of each time: visual and kinematic of t-2, of t-1, kinematic of t.
std::array<PointRanges, kKinematicTimes> RangesByTime(const TokenSet& tokens) {
  const std::int64_t newer = tokens.older_count, kinematic = newer + tokens.newer_count;
  const std::int64_t p = tokens.kinematic_count;
  return {PointRanges{0, tokens.older_count, kinematic, p},
          PointRanges{newer, tokens.newer_count, kinematic + p, p},
          PointRanges{kinematic + 2 * p, p, kinematic + 3 * p, 0}};
}

/// One graph per time, joined; all times must give the same out-degree.
KnnGraph PerTimeGraph(const TokenSet& tokens, int k, KnnBackend index) {
  const std::int64_t token_count = tokens.positions_m.size(0);
  KnnGraph joined{token_count, k, std::vector<std::int32_t>(token_count * k)};
  for (const torch::Tensor& members : TokensByTime(tokens)) {
    if (members.size(0) == 0) continue;
    const KnnGraph part = NeighborGraph(tokens.positions_m.index_select(0, members), k, index);
    CheckDegree(part.n, part.out_degree, k);
    const std::int64_t* token = members.const_data_ptr<std::int64_t>();
    for (std::int64_t i = 0; i < part.n; ++i) {
      for (int e = 0; e < k; ++e) {
        joined.neighbors[token[i] * k + e] =
            static_cast<std::int32_t>(token[part.neighbors[i * k + e]]);
      }
    }
  }
  return joined;
}

/// One graph per time on a device, joined. [T,k]
torch::Tensor PerTimeOnDevice(const CudaBackend& cuda, const TokenSet& tokens, int k) {
  const torch::Tensor joined =
      at::empty({tokens.positions_m.size(0), k}, tokens.positions_m.options().dtype(at::kInt));
  for (const PointRanges& members : RangesByTime(tokens)) {
    if (members.size() == 0) continue;
    CheckDegree(members.size(), std::min<std::int64_t>(members.size() - 1, k), k);
    WriteNearestOnDevice(cuda, tokens.positions_m, members, tokens.workspace, joined);
  }
  return joined;
}

}  // namespace

std::vector<torch::Tensor> TokensByTime(const TokenSet& tokens) {
  const auto options = tokens.positions_m.options().dtype(at::kLong);
  const auto range = [&](std::int64_t begin, std::int64_t count) {
    return at::arange(begin, begin + count, options);
  };
  std::vector<torch::Tensor> times;
  for (const PointRanges& r : RangesByTime(tokens)) {
    times.push_back(at::cat({range(r.begin, r.count), range(r.more_begin, r.more_count)}, 0));
  }
  return times;
}

KnnGraph NeighborGraph(const torch::Tensor& positions_m, int k, KnnBackend index) {
  const torch::Tensor p = positions_m.to(at::kFloat).contiguous();
  return ValueOrThrow(
      ValueOrThrow(MakeKnnIndex(index))
          ->Graph(std::span(p.const_data_ptr<float>(), static_cast<std::size_t>(p.numel())), k));
}

KnnGraph GraphOnHost(const TokenSet& tokens, int k, const GraphConfig& graph) {
  return graph.scope == GraphScope::kAll ? NeighborGraph(tokens.positions_m, k, graph.index)
                                         : PerTimeGraph(tokens, k, graph.index);
}

torch::Tensor GraphOnDevice(const CudaBackend& cuda, const TokenSet& tokens, int k,
                            GraphScope scope) {
  return scope == GraphScope::kAll ? NearestOnDevice(cuda, tokens.positions_m, k, tokens.workspace)
                                   : PerTimeOnDevice(cuda, tokens, k);
}

}  // namespace interlacer
