#include "model/token_graph.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "common/random.h"
#include "data/kernels/subset_keys_cuda.h"
#include "knn/kernels/grid_knn_cuda.h"
#include "knn/knn_index.h"
#include "knn/sparse_graph.h"
#include "knn/walk_lists.h"
#include "model/attention/walk_sampler.h"
#include "model/device_walks.h"
#include "model/kernels/walk_sampler_cuda.h"
#include "model/ops/device.h"
#include "model/torch_status.h"

namespace interlacer {
namespace {

/// Rows of the distance matrix held at once when every token looks for its closest anchor.
constexpr std::int64_t kClosestAnchorRows = 1024;
/// Path counts of graphs with more neighbours do not fit a packed entry.
constexpr int kPackedOutDegree = 3;

/// So far apart, in metres, are tokens of different times where a graph is one for each.
constexpr double kApartM = 1e3;

/// Tokens of each time: visual and kinematic of t-2, of t-1, kinematic of t.
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

KnnGraph GraphOnHost(const TokenSet& tokens, int k, GraphScope scope) {
  return scope == GraphScope::kAll ? NeighborGraph(tokens.positions_m, k) : PerTimeGraph(tokens, k);
}

EdgeWeighting ToWeighting(EdgeWeight weight) {
  switch (weight) {
    case EdgeWeight::kUniform:
      return EdgeWeighting::kConstant;
    case EdgeWeight::kExpDistance:
      return EdgeWeighting::kExpDist;
    case EdgeWeight::kInverseSqrtDegree:
      return EdgeWeighting::kInvSqrtDeg;
  }
  return EdgeWeighting::kConstant;
}

std::vector<float> WeightsOfEdges(const InterlacerConfig& config, const SparseGraph& graph,
                                  const torch::Tensor& positions_m) {
  const torch::Tensor p = positions_m.to(at::kFloat).contiguous();
  return ValueOrThrow(
      EdgeWeights(graph, ToWeighting(config.graph.edge_weight),
                  std::span(p.const_data_ptr<float>(), static_cast<std::size_t>(p.numel()))));
}

WeightedWalkLists SampledLists(const LocalLayerConfig& config, const SparseGraph& graph,
                               const std::vector<float>& edge_weights, std::uint64_t seed) {
  const WalkSamplerOptions options{.sampler = config.sampler,
                                   .walk_count = config.walk_count,
                                   .max_hops = kMaxHops,
                                   .halt_probability = config.halt_probability,
                                   .seed = seed};
  const WeightedGraph weighted = ValueOrThrow(ToWeightedGraph(graph, edge_weights));
  return ValueOrThrow(ToWalkLists(ValueOrThrow(SampleWalks(weighted, options))));
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

/// [T,k]
torch::Tensor GraphOnDevice(const TokenSet& tokens, int k, GraphScope scope) {
  return scope == GraphScope::kAll ? NearestOnDevice(tokens.positions_m, k, tokens.workspace)
                                   : PerTimeOnDevice(tokens, k);
}

/// Exact walks over equal edges, few at each token.
bool CanPack(const InterlacerConfig& config, std::int64_t out_degree) {
  return config.network.local.kind == LocalLayer::kGrfExact &&
         config.graph.edge_weight == EdgeWeight::kUniform && !config.graph.symmetrise &&
         out_degree <= kPackedOutDegree;
}

std::shared_ptr<const WalkMask> BuildMask(const InterlacerConfig& config, const TokenSet& tokens,
                                          std::uint64_t seed) {
  const LocalLayerConfig& local = config.network.local;
  const int k = config.graph.neighbor_count;
  const KnnGraph graph = GraphOnHost(tokens, k, config.graph.scope);
  const bool with_transpose = at::GradMode::is_enabled();
  const bool exact = local.kind == LocalLayer::kGrfExact;
  if (CanPack(config, graph.out_degree)) {
    return std::make_shared<WalkMask>(ValueOrThrow(BuildWalkLists(graph)), graph.out_degree,
                                      with_transpose);
  }
  const SparseGraph edges =
      ValueOrThrow(config.graph.symmetrise ? Symmetrised(graph) : ToSparse(graph));
  const std::vector<float> weights = WeightsOfEdges(config, edges, tokens.positions_m);
  return std::make_shared<WalkMask>(exact ? ValueOrThrow(BuildWeightedWalkLists(edges, weights))
                                          : SampledLists(local, edges, weights, seed),
                                    with_transpose);
}

std::shared_ptr<const WalkMask> BuildMaskOnDevice(const InterlacerConfig& config,
                                                  const TokenSet& tokens, std::uint64_t seed) {
  const bool with_transpose = at::GradMode::is_enabled();
  const int k = config.graph.neighbor_count;
  if (!CheckDeviceGraph(config).ok()) {
    TokenSet on_host = tokens;
    on_host.positions_m = tokens.positions_m.to(at::kCPU);
    return std::make_shared<WalkMask>(BuildMask(config, on_host, seed)->CopyTo(tokens.positions_m));
  }
  const torch::Tensor neighbors = GraphOnDevice(tokens, k, config.graph.scope);
  if (CanPack(config, neighbors.size(1))) {
    return ExactWalksOnDevice(neighbors, with_transpose, !with_transpose);
  }
  return config.network.local.kind == LocalLayer::kGrfExact
             ? WeightedWalksOnDevice(config, neighbors, tokens.positions_m, with_transpose)
             : SampledWalksOnDevice(config, neighbors, tokens.positions_m, seed, with_transpose);
}

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

/// The same anchors and all other tokens, both ascending, without the host.
std::pair<torch::Tensor, torch::Tensor> DivideTokensOnDevice(const torch::Tensor& positions_m,
                                                             std::int64_t anchor_count,
                                                             std::uint64_t seed) {
  const std::int64_t token_count = positions_m.size(0);
  const torch::Tensor keys = at::empty({token_count}, positions_m.options().dtype(at::kLong));
  CheckLaunch(LaunchAnchorKeys(seed, token_count, keys.mutable_data_ptr<std::int64_t>(),
                               StreamOf(positions_m)),
              "anchor keys");
  const torch::Tensor drawn = std::get<1>(at::sort(keys, /*stable=*/true, 0, /*descending=*/false));
  const auto ascending = [&](std::int64_t begin, std::int64_t end) {
    return std::get<0>(at::sort(drawn.narrow(0, begin, end - begin)));
  };
  return {ascending(0, anchor_count), ascending(anchor_count, token_count)};
}

/// Position in `anchors_m` of the closest anchor of every row, smaller position on ties. [n,axes]
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

torch::Tensor NearestTokens(const TokenSet& tokens, int k, GraphScope scope) {
  const torch::Tensor& positions_m = tokens.positions_m;
  if (OnDevice(positions_m) && k <= kMaxCudaNeighbors) {
    return GraphOnDevice(tokens, k, scope);
  }
  TokenSet on_host = tokens;
  on_host.positions_m = positions_m.to(at::kCPU);
  const KnnGraph nearest = GraphOnHost(on_host, k, scope);
  return at::tensor(nearest.neighbors, at::kInt)
      .reshape({nearest.n, nearest.out_degree})
      .to(positions_m.device());
}

/// Anchors and all other tokens, ascending.
std::pair<torch::Tensor, torch::Tensor> DivideTokens(const torch::Tensor& positions_m,
                                                     std::int64_t anchor_count,
                                                     std::uint64_t seed) {
  const std::int64_t token_count = positions_m.size(0);
  if (OnDevice(positions_m)) return DivideTokensOnDevice(positions_m, anchor_count, seed);
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

std::shared_ptr<const AnchorGraph> BuildAnchors(const InterlacerConfig& model,
                                                const TokenSet& tokens, std::uint64_t seed) {
  const LocalLayerConfig& config = model.network.local;
  const GraphScope scope = model.graph.scope;
  const torch::Tensor positions_m =
      scope == GraphScope::kAll ? tokens.positions_m : ApartInTime(tokens);
  const std::int64_t count =
      (positions_m.size(0) + config.anchor_stride - 1) / config.anchor_stride;
  auto graph = std::make_shared<AnchorGraph>();
  std::tie(graph->anchors, graph->others) = DivideTokens(positions_m, count, seed);
  graph->neighbors = NearestTokens(tokens, config.anchor_neighbor_count, scope)
                         .index_select(0, graph->anchors)
                         .to(at::kLong);
  graph->closest = ClosestAnchors(positions_m.index_select(0, graph->others),
                                  positions_m.index_select(0, graph->anchors));
  return graph;
}

Status NotOnDevice(const std::string& field, const std::string& expected, const std::string& got) {
  return Unimplemented(reason::FEATURE_NOT_BUILT,
                       field + ": a device builds graphs of " + expected + ", got " + got)
      .WithField(field)
      .WithMetadata("expected", expected)
      .WithMetadata("got", got);
}

}  // namespace

KnnGraph NeighborGraph(const torch::Tensor& positions_m, int k) {
  const torch::Tensor p = positions_m.to(at::kFloat).contiguous();
  const auto index = ValueOrThrow(MakeKnnIndex(KnnBackend::kGrid));
  return ValueOrThrow(
      index->Graph(std::span(p.const_data_ptr<float>(), static_cast<std::size_t>(p.numel())), k));
}

Status CheckDeviceGraph(const InterlacerConfig& config) {
  const LocalLayerConfig& local = config.network.local;
  const std::int64_t k = config.graph.neighbor_count;
  if (local.kind == LocalLayer::kGrfExact && !CanPack(config, k)) {
    if (config.graph.symmetrise) {
      return NotOnDevice("graph.symmetrise", "directed edges for grf_exact", "true");
    }
    if (!CanEnumerateOnDevice(k)) {
      return NotOnDevice("graph.neighbor_count",
                         "at most " + std::to_string(kPackedOutDegree) +
                             " weighted edges at a token for grf_exact",
                         std::to_string(k));
    }
  }
  if (local.kind == LocalLayer::kGrfSampled && !CanSampleOnDevice(local)) {
    return NotOnDevice("network.local.walk_count",
                       "at most " + std::to_string(kMaxCudaWalks) + " walks from a token",
                       std::to_string(local.walk_count));
  }
  if (local.kind == LocalLayer::kMessagePassing &&
      local.anchor_neighbor_count > kMaxCudaNeighbors) {
    return NotOnDevice("network.local.anchor_neighbor_count",
                       "at most " + std::to_string(kMaxCudaNeighbors) + " neighbours of an anchor",
                       std::to_string(local.anchor_neighbor_count));
  }
  return Status();
}

TokenGraph BuildTokenGraph(const InterlacerConfig& config, const TokenSet& tokens,
                           std::uint64_t seed) {
  TokenSet constant = tokens;
  constant.positions_m = tokens.positions_m.detach();
  TokenGraph graph;
  graph.positions_m = tokens.positions_m;
  switch (config.network.local.kind) {
    case LocalLayer::kGrfExact:
    case LocalLayer::kGrfSampled:
      graph.mask = OnDevice(constant.positions_m) ? BuildMaskOnDevice(config, constant, seed)
                                                  : BuildMask(config, constant, seed);
      break;
    case LocalLayer::kMessagePassing:
      graph.anchors = BuildAnchors(config, constant, seed);
      break;
    case LocalLayer::kUnmasked:
    case LocalLayer::kNone:
      break;
  }
  return graph;
}

}  // namespace interlacer
