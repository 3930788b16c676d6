#include "model/graph/token_graph.h"

#include <ATen/Functions.h>
#include <ATen/core/grad_mode.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "common/log.h"
#include "knn/sparse_graph.h"
#include "knn/walk_lists.h"
#include "model/cuda/backend.h"
#include "model/device_limits.h"
#include "model/graph/device_walks.h"
#include "model/graph/token_neighbors.h"
#include "model/graph/walk_sampler.h"
#include "model/runtime/torch_status.h"

namespace interlacer {
namespace {

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

using MaskForm =
    std::function<std::shared_ptr<const WalkMask>(const TokenSet& tokens, std::uint64_t seed)>;

/// Lists by end node serve the backward pass alone.
bool NeedsTranspose() { return at::GradMode::is_enabled(); }

MaskForm BindHostMask(const InterlacerConfig& config) {
  const int k = config.graph.neighbor_count;
  if (PacksWalks(config)) {
    return [config, k](const TokenSet& tokens, std::uint64_t) {
      const KnnGraph graph = GraphOnHost(tokens, k, config.graph);
      return std::make_shared<WalkMask>(ValueOrThrow(BuildWalkLists(graph)), graph.out_degree,
                                        NeedsTranspose());
    };
  }
  return [config, k](const TokenSet& tokens, std::uint64_t seed) {
    const KnnGraph graph = GraphOnHost(tokens, k, config.graph);
    const SparseGraph edges =
        ValueOrThrow(config.graph.symmetrise ? Symmetrised(graph) : ToSparse(graph));
    const std::vector<float> weights = WeightsOfEdges(config, edges, tokens.positions_m);
    return std::make_shared<WalkMask>(
        config.network.local.kind == LocalLayer::kGrfExact
            ? ValueOrThrow(BuildWeightedWalkLists(edges, weights))
            : SampledLists(config.network.local, edges, weights, seed),
        NeedsTranspose());
  };
}

/// Graphs without a device form are built on the host and copied.
MaskForm BindCopiedMask(const InterlacerConfig& config) {
  return [on_host = BindHostMask(config)](const TokenSet& tokens, std::uint64_t seed) {
    TokenSet copied = tokens;
    copied.positions_m = tokens.positions_m.to(at::kCPU);
    return std::make_shared<WalkMask>(on_host(copied, seed)->CopyTo(tokens.positions_m));
  };
}

MaskForm BindDeviceMask(const InterlacerConfig& config, const CudaBackend& cuda) {
  const auto neighbors_of = [&cuda, config](const TokenSet& tokens) {
    return GraphOnDevice(cuda, tokens, config.graph.neighbor_count, config.graph.scope);
  };
  if (PacksWalks(config)) {
    return [&cuda, neighbors_of](const TokenSet& tokens, std::uint64_t) {
      return ExactWalksOnDevice(cuda, neighbors_of(tokens), NeedsTranspose());
    };
  }
  if (config.network.local.kind == LocalLayer::kGrfExact) {
    return [&cuda, config, neighbors_of](const TokenSet& tokens, std::uint64_t) {
      return WeightedWalksOnDevice(cuda, config, neighbors_of(tokens), tokens.positions_m,
                                   NeedsTranspose());
    };
  }
  return [&cuda, config, neighbors_of](const TokenSet& tokens, std::uint64_t seed) {
    return SampledWalksOnDevice(cuda, config, neighbors_of(tokens), tokens.positions_m, seed,
                                NeedsTranspose());
  };
}

using NearestForm = std::function<torch::Tensor(const TokenSet& tokens)>;

/// The nearest tokens of every token, as anchors gather from them. [T,k] int32
NearestForm BindNearest(const InterlacerConfig& config, const CudaBackend* graph_cuda) {
  const int k = config.network.local.anchor_neighbor_count;
  if (graph_cuda != nullptr) {
    return [cuda = graph_cuda, k, scope = config.graph.scope](const TokenSet& tokens) {
      return GraphOnDevice(*cuda, tokens, k, scope);
    };
  }
  return [k, graph = config.graph](const TokenSet& tokens) {
    TokenSet on_host = tokens;
    on_host.positions_m = tokens.positions_m.to(at::kCPU);
    const KnnGraph nearest = GraphOnHost(on_host, k, graph);
    return at::tensor(nearest.neighbors, at::kInt)
        .reshape({nearest.n, nearest.out_degree})
        .to(tokens.positions_m.device());
  };
}

/// The graph is a constant of the backward pass.
TokenSet Detached(const TokenSet& tokens) {
  TokenSet constant = tokens;
  constant.positions_m = tokens.positions_m.detach();
  return constant;
}

/// The graph of a mechanism of the library, on the host.
TokenEdges EdgesOf(const InterlacerConfig& config, const MechanismConfig& mechanism,
                   const TokenSet& tokens) {
  const KnnGraph nearest = GraphOnHost(tokens, mechanism.neighbor_count, config.graph);
  const SparseGraph graph =
      ValueOrThrow(mechanism.symmetrise ? Symmetrised(nearest) : ToSparse(nearest));
  TokenEdges edges{
      at::tensor(graph.offsets, at::kLong), at::tensor(graph.neighbors, at::kLong), {}};
  if (config.graph.edge_weight != EdgeWeight::kUniform) {
    edges.weights = at::tensor(WeightsOfEdges(config, graph, tokens.positions_m), at::kFloat);
  }
  return edges;
}

MaskForm BindMask(const InterlacerConfig& config, const CudaBackend* cuda,
                  const CudaBackend* graph_cuda) {
  if (cuda == nullptr) return BindHostMask(config);
  return graph_cuda == nullptr ? BindCopiedMask(config) : BindDeviceMask(config, *graph_cuda);
}

/// Where the graph is built: on the device of the step, or null for the host; logged where the two
/// differ.
const CudaBackend* GraphBackend(const InterlacerConfig& config, const CudaBackend* cuda) {
  const Status status = CheckDeviceGraph(config);
  if (cuda == nullptr || status.ok()) return cuda;
  Log(LogLevel::kWarning, "graphs are built on the host", {{"why", status.message()}});
  return nullptr;
}

/// What the local layer needs if it is none of the library's.
GraphForm BindLocalGraph(const InterlacerConfig& config, const CudaBackend* cuda) {
  const CudaBackend* const graph_cuda = GraphBackend(config, cuda);
  switch (config.network.local.kind) {
    case LocalLayer::kGrfExact:
    case LocalLayer::kGrfSampled:
      return [cuda, mask = BindMask(config, cuda, graph_cuda)](const TokenSet& tokens,
                                                               std::uint64_t seed) {
        return TokenGraph{tokens.positions_m, mask(Detached(tokens), seed), nullptr, cuda};
      };
    case LocalLayer::kMessagePassing:
      return [config, cuda, nearest = BindNearest(config, graph_cuda)](const TokenSet& tokens,
                                                                       std::uint64_t seed) {
        const TokenSet constant = Detached(tokens);
        return TokenGraph{tokens.positions_m, nullptr,
                          BuildAnchors(config, constant, nearest(constant), seed, cuda), cuda};
      };
    case LocalLayer::kUnmasked:
    case LocalLayer::kNone:
    case LocalLayer::kMechanism:
      break;
  }
  return [cuda](const TokenSet& tokens, std::uint64_t) {
    return TokenGraph{tokens.positions_m, nullptr, nullptr, cuda};
  };
}

}  // namespace

GraphForm BindTokenGraph(const InterlacerConfig& config, const CudaBackend* cuda) {
  GraphForm local_graph = BindLocalGraph(config, cuda);
  const auto &global = config.network.global.mechanism, &local = config.network.local.mechanism;
  if (!global && !local) return local_graph;
  return [config, global, local, local_graph](const TokenSet& tokens, std::uint64_t seed) {
    TokenGraph graph = local_graph(tokens, seed);
    const TokenSet constant = Detached(tokens);
    if (local) graph.local_edges = std::make_shared<TokenEdges>(EdgesOf(config, *local, constant));
    if (global) {
      const bool is_same = local && local->neighbor_count == global->neighbor_count &&
                           local->symmetrise == global->symmetrise;
      graph.global_edges = is_same
                               ? graph.local_edges
                               : std::make_shared<TokenEdges>(EdgesOf(config, *global, constant));
    }
    return graph;
  };
}

}  // namespace interlacer
