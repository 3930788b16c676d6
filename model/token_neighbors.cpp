#include "model/token_neighbors.h"

#include <ATen/Functions.h>

#include <span>
#include <string>

#include "knn/knn_index.h"
#include "model/device_walks.h"
#include "model/torch_status.h"

namespace interlacer {
namespace {

void CheckDegree(std::int64_t member_count, std::int64_t out_degree, int k) {
  if (out_degree == k) return;
  ThrowIfError(Mismatch(reason::ARGUMENT_INVALID, "graph.scope",
                        "more than " + std::to_string(k) + " tokens of each time",
                        std::to_string(member_count)));
}

/// One graph per time, joined; all times must give the same out-degree.
KnnGraph PerTimeGraph(const TokenSet& tokens, int k) {
  const std::int64_t token_count = tokens.positions_m.size(0);
  KnnGraph joined{token_count, k, std::vector<std::int32_t>(token_count * k)};
  for (const torch::Tensor& members : TokensByTime(tokens)) {
    if (members.size(0) == 0) continue;
    const KnnGraph part = NeighborGraph(tokens.positions_m.index_select(0, members), k);
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

/// The same on a device. [T,k]
torch::Tensor PerTimeOnDevice(const TokenSet& tokens, int k) {
  const torch::Tensor joined =
      at::empty({tokens.positions_m.size(0), k}, tokens.positions_m.options().dtype(at::kInt));
  for (const torch::Tensor& members : TokensByTime(tokens)) {
    if (members.size(0) == 0) continue;
    const torch::Tensor part =
        NearestOnDevice(tokens.positions_m.index_select(0, members), k, tokens.workspace);
    CheckDegree(part.size(0), part.size(1), k);
    const torch::Tensor token = members.index_select(0, part.flatten().to(at::kLong));
    joined.index_copy_(0, members, token.reshape(part.sizes()).to(at::kInt));
  }
  return joined;
}

}  // namespace

std::vector<torch::Tensor> TokensByTime(const TokenSet& tokens) {
  const std::int64_t newer = tokens.older_count, kinematic = newer + tokens.newer_count;
  const std::int64_t p = tokens.kinematic_count;
  const auto options = tokens.positions_m.options().dtype(at::kLong);
  const auto range = [&](std::int64_t begin, std::int64_t count) {
    return at::arange(begin, begin + count, options);
  };
  return {at::cat({range(0, tokens.older_count), range(kinematic, p)}, 0),
          at::cat({range(newer, tokens.newer_count), range(kinematic + p, p)}, 0),
          range(kinematic + 2 * p, p)};
}

KnnGraph NeighborGraph(const torch::Tensor& positions_m, int k) {
  const torch::Tensor p = positions_m.to(at::kFloat).contiguous();
  const auto index = ValueOrThrow(MakeKnnIndex(KnnBackend::kGrid));
  return ValueOrThrow(
      index->Graph(std::span(p.const_data_ptr<float>(), static_cast<std::size_t>(p.numel())), k));
}

KnnGraph GraphOnHost(const TokenSet& tokens, int k, GraphScope scope) {
  return scope == GraphScope::kAll ? NeighborGraph(tokens.positions_m, k) : PerTimeGraph(tokens, k);
}

torch::Tensor GraphOnDevice(const TokenSet& tokens, int k, GraphScope scope) {
  return scope == GraphScope::kAll ? NearestOnDevice(tokens.positions_m, k, tokens.workspace)
                                   : PerTimeOnDevice(tokens, k);
}

}  // namespace interlacer
