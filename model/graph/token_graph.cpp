#include "model/graph/token_graph.h"

#include <ATen/core/grad_mode.h>

#include <span>
#include <string>
#include <vector>

#include "knn/sparse_graph.h"
#include "knn/walk_lists.h"
#include "model/cuda/backend.h"
#include "model/cuda/device_choice.h"
#include "model/graph/device_walks.h"
#include "model/graph/token_neighbors.h"
#include "model/graph/walk_sampler.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

/// Path counts of graphs with more neighbours do not fit a packed entry.
constexpr int kPackedOutDegree = 3;

std::vector<float> WeightsOfEdges(const InterlacerConfig& config, const SparseGraph& graph,
                                  const torch::Tensor& positions_m) {
  const torch::Tensor p = positions_m.to(at::kFloat).contiguous();
  return ValueOrThrow(
      EdgeWeights(graph, config.graph.edge_weight,
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

/// Whether the lists of a graph with that many neighbours can be packed: exact walks over edges of
/// equal weight, with few at each token.
bool CanPack(const InterlacerConfig& config, std::int64_t out_degree) {
  return config.network.local.kind == LocalLayer::kGrfExact &&
         config.graph.edge_weight == EdgeWeight::kUniform && !config.graph.symmetrise &&
         out_degree <= kPackedOutDegree;
}

std::shared_ptr<const WalkMask> BuildMask(const InterlacerConfig& config, const TokenSet& tokens,
                                          std::uint64_t seed) {
  const LocalLayerConfig& local = config.network.local;
  const int k = config.graph.neighbor_count;
  const KnnGraph graph = GraphOnHost(tokens, k, config.graph);
  // Lists by end node serve the backward pass alone.
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

std::shared_ptr<const WalkMask> BuildMaskOnDevice(const CudaBackend& cuda,
                                                  const InterlacerConfig& config,
                                                  const TokenSet& tokens, std::uint64_t seed) {
  const bool with_transpose = at::GradMode::is_enabled();
  const int k = config.graph.neighbor_count;
  // Graphs without a device form are built on the host and copied.
  if (!CheckDeviceGraph(config).ok()) {
    TokenSet on_host = tokens;
    on_host.positions_m = tokens.positions_m.to(at::kCPU);
    return std::make_shared<WalkMask>(BuildMask(config, on_host, seed)->CopyTo(tokens.positions_m));
  }
  const torch::Tensor neighbors = GraphOnDevice(cuda, tokens, k, config.graph.scope);
  if (CanPack(config, neighbors.size(1))) {
    return ExactWalksOnDevice(cuda, neighbors, with_transpose);
  }
  return config.network.local.kind == LocalLayer::kGrfExact
             ? WeightedWalksOnDevice(cuda, config, neighbors, tokens.positions_m, with_transpose)
             : SampledWalksOnDevice(cuda, config, neighbors, tokens.positions_m, seed,
                                    with_transpose);
}

}  // namespace

bool PacksWalks(const InterlacerConfig& config) {
  return CanPack(config, config.graph.neighbor_count);
}

Status CheckDeviceGraph(const InterlacerConfig& config) {
  const LocalLayerConfig& local = config.network.local;
  const std::int64_t k = config.graph.neighbor_count;
  if (local.kind == LocalLayer::kGrfExact && !PacksWalks(config)) {
    if (config.graph.symmetrise) {
      return NotOnDevice("graph.symmetrise", "graphs of directed edges for grf_exact", "true");
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
                           std::uint64_t seed, const CudaBackend* cuda) {
  // The graph is a constant of the backward pass; positions_m themselves keep their gradient.
  TokenSet constant = tokens;
  constant.positions_m = tokens.positions_m.detach();
  TokenGraph graph;
  graph.positions_m = tokens.positions_m;
  graph.cuda = cuda;
  switch (config.network.local.kind) {
    case LocalLayer::kGrfExact:
    case LocalLayer::kGrfSampled:
      graph.mask = cuda != nullptr ? BuildMaskOnDevice(*cuda, config, constant, seed)
                                   : BuildMask(config, constant, seed);
      break;
    case LocalLayer::kMessagePassing:
      graph.anchors = BuildAnchors(config, constant, seed, cuda);
      break;
    case LocalLayer::kUnmasked:
    case LocalLayer::kNone:
      break;
  }
  return graph;
}

}  // namespace interlacer
