#include "model/graph/anchors.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "common/random.h"
#include "model/cuda/backend.h"
#include "model/graph/token_neighbors.h"

namespace interlacer {
namespace {

/// Rows of the distance matrix computed at once in the search for every token's closest anchor.
constexpr std::int64_t kClosestAnchorRows = 1024;

/// Distance in metres between tokens of different times where each time has a graph of its own.
constexpr double kApartM = 1e3;

/// `count` of `token_count` tokens without replacement: those with the smallest Philox keys.
std::vector<std::int64_t> DrawAnchors(std::int64_t token_count, std::int64_t count,
                                      std::uint64_t seed) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> keyed(token_count);
  for (std::int64_t i = 0; i < token_count; ++i) {
    const PhiloxWords w = Philox(seed, static_cast<std::uint32_t>(RandomStream::kAnchors), 0, 0,
                                 static_cast<std::uint32_t>(i));
    keyed[i] = {(static_cast<std::uint64_t>(w.word[1]) << 32) | w.word[0], i};
  }
  std::nth_element(keyed.begin(), keyed.begin() + count, keyed.end());
  std::vector<std::int64_t> anchors(count);
  for (std::int64_t i = 0; i < count; ++i) anchors[i] = keyed[i].second;
  std::sort(anchors.begin(), anchors.end());
  return anchors;
}

/// Anchors and all other tokens, both ascending, found on the device.
std::pair<torch::Tensor, torch::Tensor> DivideTokensOnDevice(const CudaBackend& cuda,
                                                             const torch::Tensor& positions_m,
                                                             std::int64_t anchor_count,
                                                             std::uint64_t seed) {
  const std::int64_t token_count = positions_m.size(0);
  const torch::Tensor keys = at::empty({token_count}, positions_m.options().dtype(at::kLong));
  cuda.Check(cuda.kernels.LaunchAnchorKeys(seed, token_count, keys.mutable_data_ptr<std::int64_t>(),
                                           cuda.stream_of(positions_m)),
             "anchor keys");
  const torch::Tensor drawn = std::get<1>(at::sort(keys, /*stable=*/true, 0, /*descending=*/false));
  const auto ascending = [&](std::int64_t begin, std::int64_t end) {
    return std::get<0>(at::sort(drawn.narrow(0, begin, end - begin)));
  };
  return {ascending(0, anchor_count), ascending(anchor_count, token_count)};
}

/// For every row the position in `anchors_m` of the closest anchor, the smaller position on ties;
/// compares all distances. [n,axes]
torch::Tensor ClosestAnchors(const torch::Tensor& positions_m, const torch::Tensor& anchors_m) {
  std::vector<torch::Tensor> parts;
  for (std::int64_t begin = 0; begin < positions_m.size(0); begin += kClosestAnchorRows) {
    const std::int64_t count = std::min(kClosestAnchorRows, positions_m.size(0) - begin);
    const torch::Tensor rows = positions_m.narrow(0, begin, count);
    torch::Tensor sq_dist_m2;
    for (std::int64_t axis = 0; axis < positions_m.size(1); ++axis) {
      const torch::Tensor difference =
          rows.select(1, axis).unsqueeze(1) - anchors_m.select(1, axis).unsqueeze(0);
      sq_dist_m2 = axis == 0 ? difference.square() : sq_dist_m2.addcmul_(difference, difference);
    }
    parts.push_back(sq_dist_m2.argmin(1));
  }
  return parts.empty() ? at::empty({0}, positions_m.options().dtype(at::kLong)) : at::cat(parts, 0);
}

/// Closest anchors on the host: taken from each token's nearest tokens, which usually include an
/// anchor; by all distances for the remaining tokens.
torch::Tensor ClosestAnchorsOnHost(const torch::Tensor& positions_m, const AnchorGraph& graph,
                                   const torch::Tensor& nearest) {
  const std::int64_t others = graph.others.size(0), k = nearest.size(1);
  torch::Tensor place = at::full({positions_m.size(0)}, -1, at::kLong);
  place.index_copy_(0, graph.anchors, at::arange(graph.anchors.size(0), at::kLong));
  const torch::Tensor closest = at::empty({others}, at::kLong);
  const auto* place_of = place.const_data_ptr<std::int64_t>();
  const auto* token = graph.others.const_data_ptr<std::int64_t>();
  const auto* nearest_of = nearest.const_data_ptr<std::int32_t>();
  auto* out = closest.mutable_data_ptr<std::int64_t>();
  std::vector<std::int64_t> unknown;
  for (std::int64_t i = 0; i < others; ++i) {
    out[i] = -1;
    for (std::int64_t e = 0; e < k && out[i] < 0; ++e)
      out[i] = place_of[nearest_of[token[i] * k + e]];
    if (out[i] < 0) unknown.push_back(i);
  }
  if (unknown.empty()) return closest;
  const torch::Tensor rows = at::tensor(unknown, at::kLong);
  return closest.index_copy(
      0, rows,
      ClosestAnchors(positions_m.index_select(0, graph.others.index_select(0, rows)),
                     positions_m.index_select(0, graph.anchors)));
}

/// Splits the tokens into anchors and all others, both ascending.
std::pair<torch::Tensor, torch::Tensor> DivideTokens(const torch::Tensor& positions_m,
                                                     std::int64_t anchor_count, std::uint64_t seed,
                                                     const CudaBackend* cuda) {
  const std::int64_t token_count = positions_m.size(0);
  if (cuda != nullptr) return DivideTokensOnDevice(*cuda, positions_m, anchor_count, seed);
  const torch::Tensor anchors = at::tensor(DrawAnchors(token_count, anchor_count, seed), at::kLong);
  torch::Tensor is_other = at::ones({token_count}, at::kBool);
  is_other.index_fill_(0, anchors, 0);
  return {anchors, is_other.nonzero().flatten()};
}

/// Positions with a fourth axis on which tokens of different times lie far apart. [T,4]
torch::Tensor ApartInTime(const TokenSet& tokens) {
  const torch::Tensor time =
      at::empty({tokens.positions_m.size(0), 1}, tokens.positions_m.options());
  double place_m = 0;
  for (const torch::Tensor& members : TokensByTime(tokens)) {
    time.index_fill_(0, members, place_m);
    place_m += kApartM;
  }
  return at::cat({tokens.positions_m, time}, 1);
}

}  // namespace

std::shared_ptr<const AnchorGraph> BuildAnchors(const InterlacerConfig& model,
                                                const TokenSet& tokens,
                                                const torch::Tensor& nearest, std::uint64_t seed,
                                                const CudaBackend* cuda) {
  const LocalLayerConfig& config = model.network.local;
  const GraphScope scope = model.graph.scope;
  const torch::Tensor positions_m =
      scope == GraphScope::kAll ? tokens.positions_m : ApartInTime(tokens);
  const std::int64_t count =
      (positions_m.size(0) + config.anchor_stride - 1) / config.anchor_stride;
  auto graph = std::make_shared<AnchorGraph>();
  std::tie(graph->anchors, graph->others) = DivideTokens(positions_m, count, seed, cuda);
  graph->neighbors = nearest.index_select(0, graph->anchors).to(at::kLong);
  graph->closest = cuda != nullptr ? ClosestAnchors(positions_m.index_select(0, graph->others),
                                                    positions_m.index_select(0, graph->anchors))
                                   : ClosestAnchorsOnHost(positions_m, *graph, nearest);
  return graph;
}

}  // namespace interlacer
