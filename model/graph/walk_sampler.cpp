#include "model/graph/walk_sampler.h"

#include <algorithm>
#include <atomic>
#include <numeric>
#include <string>

#include "common/thread_pool.h"
#include "knn/walk_lists.h"
#include "model/kernels/walk_ensemble.h"

namespace interlacer {
namespace {

constexpr std::int64_t kRootsPerChunk = 64;

Status CheckGraph(const WeightedGraph& graph) {
  if (static_cast<std::int64_t>(graph.offsets.size()) != graph.n + 1) {
    return Mismatch(reason::SHAPE_MISMATCH, "graph.offsets",
                    std::to_string(graph.n + 1) + " values", std::to_string(graph.offsets.size()));
  }
  const std::size_t edges = static_cast<std::size_t>(graph.offsets.back());
  if (graph.neighbors.size() != edges || graph.weights.size() != edges) {
    return Mismatch(
        reason::SHAPE_MISMATCH, "graph.neighbors and graph.weights",
        std::to_string(edges) + " values each",
        std::to_string(graph.neighbors.size()) + " and " + std::to_string(graph.weights.size()));
  }
  if (!graph.keys.empty() && static_cast<std::int64_t>(graph.keys.size()) != graph.n) {
    return Mismatch(reason::SHAPE_MISMATCH, "graph.keys",
                    "none or " + std::to_string(graph.n) + " values",
                    std::to_string(graph.keys.size()));
  }
  return Status::Ok();
}

Status CheckOptions(const WalkSamplerOptions& options) {
  if (options.walk_count < 1) {
    return Mismatch(reason::ARGUMENT_INVALID, "walk_count", "at least 1",
                    std::to_string(options.walk_count));
  }
  if (HaltsInPairs(options) && options.walk_count % 2 != 0) {
    return Mismatch(reason::ARGUMENT_INVALID, "walk_count", "an even number for antithetic halting",
                    std::to_string(options.walk_count));
  }
  if (options.max_hops < 0) {
    return Mismatch(reason::ARGUMENT_INVALID, "max_hops", "at least 0",
                    std::to_string(options.max_hops));
  }
  if (!(options.halt_probability >= 0 && options.halt_probability < 1)) {
    return Mismatch(reason::ARGUMENT_INVALID, "halt_probability", "a number in [0, 1)",
                    std::to_string(options.halt_probability));
  }
  return Status::Ok();
}

struct Visit {
  std::int32_t node;
  std::int32_t hops;
  double load;
};

/// Simulates the walkers of one start node at a time; owns the memory of all of them.
class Ensemble {
 public:
  Ensemble(const WeightedGraph& graph, const WalkSamplerOptions& options)
      : edges_{graph.offsets.data(), graph.neighbors.data(), graph.weights.data()},
        keys_(graph.keys),
        options_(options),
        walkers_(static_cast<std::size_t>(options.walk_count)),
        draws_(walkers_.size()),
        order_(walkers_.size()) {}

  void Run(std::int32_t root, std::vector<Visit>& visits) {
    const auto sort = [](WalkGroupMember* begin, WalkGroupMember* end) { std::sort(begin, end); };
    WalkEnsemble ensemble(edges_, options_, {walkers_.data(), draws_.data(), order_.data()}, sort);
    ensemble.Run(root, KeyOf(root), [&](std::int32_t node, int hops, double load) {
      visits.push_back({node, hops, load});
    });
  }

  std::vector<std::vector<std::int64_t>> Paths(std::int32_t root) {
    const auto sort = [](WalkGroupMember* begin, WalkGroupMember* end) { std::sort(begin, end); };
    WalkEnsemble ensemble(edges_, options_, {walkers_.data(), draws_.data(), order_.data()}, sort);
    std::vector<std::vector<std::int64_t>> paths(walkers_.size());
    // Visits of one hop are of the walkers that are alive, in order.
    int now = -1;
    std::size_t walker = 0;
    ensemble.Run(root, KeyOf(root), [&](std::int32_t, int hops, double) {
      walker = hops == now ? walker + 1 : 0;
      now = hops;
      while (!walkers_[walker].alive) ++walker;
      if (hops > 0) paths[walker].push_back(walkers_[walker].chosen_edge);
    });
    return paths;
  }

 private:
  std::int32_t KeyOf(std::int32_t node) const {
    return keys_.empty() ? node : keys_[static_cast<std::size_t>(node)];
  }

  WalkEdges edges_;
  std::span<const std::int32_t> keys_;
  WalkSamplerOptions options_;
  std::vector<Walker> walkers_;
  std::vector<double> draws_;
  std::vector<WalkGroupMember> order_;
};

struct Chunk {
  std::vector<std::int32_t> nodes;
  std::vector<double> loads;
};

/// Sums the visits of one root by node and appends them to the chunk; returns the row's length.
std::int32_t AppendRow(std::vector<Visit>& visits, int max_hops, double scale, Chunk& chunk) {
  // Stable, so that the loads of a node are summed in the order of its visits.
  std::stable_sort(visits.begin(), visits.end(),
                   [](const Visit& a, const Visit& b) { return a.node < b.node; });
  std::int32_t length = 0;
  std::vector<double> load(static_cast<std::size_t>(max_hops) + 1);
  for (std::size_t v = 0; v < visits.size(); ++length) {
    const std::int32_t node = visits[v].node;
    std::fill(load.begin(), load.end(), 0);
    for (; v < visits.size() && visits[v].node == node; ++v) load[visits[v].hops] += visits[v].load;
    chunk.nodes.push_back(node);
    for (const double sum : load) chunk.loads.push_back(sum * scale);
  }
  return length;
}

}  // namespace

StatusOr<WeightedGraph> ToWeightedGraph(const SparseGraph& graph,
                                        std::span<const float> edge_weights) {
  if (edge_weights.size() != graph.neighbors.size()) {
    return Mismatch(reason::SHAPE_MISMATCH, "edge_weights",
                    std::to_string(graph.neighbors.size()) + " values",
                    std::to_string(edge_weights.size()));
  }
  return WeightedGraph{
      graph.n, graph.offsets, graph.neighbors, {edge_weights.begin(), edge_weights.end()}};
}

StatusOr<WalkLoads> SampleWalks(const WeightedGraph& graph, const WalkSamplerOptions& options,
                                std::int64_t max_loads) {
  INTERLACER_RETURN_IF_ERROR(CheckGraph(graph));
  INTERLACER_RETURN_IF_ERROR(CheckOptions(options));
  const std::int64_t n = graph.n;
  const double scale = 1.0 / options.walk_count;
  WalkLoads result;
  result.n = n;
  result.max_hops = options.max_hops;
  result.offsets.assign(static_cast<std::size_t>(n + 1), 0);
  // Rows of a chunk are contiguous and chunks are joined in order: equal results for any thread
  // count.
  std::vector<Chunk> chunks(static_cast<std::size_t>((n + kRootsPerChunk - 1) / kRootsPerChunk));
  std::atomic<std::int64_t> load_count = 0;
  ParallelFor(n, kRootsPerChunk, [&](std::int64_t begin, std::int64_t end) {
    Ensemble ensemble(graph, options);
    std::vector<Visit> visits;
    for (std::int64_t i = begin; i < end && load_count <= max_loads; ++i) {
      visits.clear();
      ensemble.Run(static_cast<std::int32_t>(i), visits);
      result.offsets[i + 1] =
          AppendRow(visits, options.max_hops, scale, chunks[begin / kRootsPerChunk]);
      load_count += std::int64_t{result.offsets[i + 1]} * (options.max_hops + 1);
    }
  });
  if (load_count > max_loads) {
    return ResourceExhausted(reason::HOST_MEMORY,
                             "walks of " + std::to_string(options.max_hops) +
                                 " hops: expected at most " + std::to_string(max_loads) +
                                 " loads of nodes by hops, got more; take fewer hops or walks");
  }
  std::partial_sum(result.offsets.begin(), result.offsets.end(), result.offsets.begin());
  const auto entries = static_cast<std::size_t>(result.offsets.back());
  result.nodes.reserve(entries);
  result.loads.reserve(entries * (static_cast<std::size_t>(options.max_hops) + 1));
  for (const Chunk& chunk : chunks) {
    result.nodes.insert(result.nodes.end(), chunk.nodes.begin(), chunk.nodes.end());
    result.loads.insert(result.loads.end(), chunk.loads.begin(), chunk.loads.end());
  }
  return result;
}

std::vector<std::vector<std::int64_t>> WalkPaths(const WeightedGraph& graph,
                                                 const WalkSamplerOptions& options,
                                                 std::int32_t root) {
  return Ensemble(graph, options).Paths(root);
}

StatusOr<WeightedWalkLists> ToWalkLists(const WalkLoads& loads) {
  if (loads.max_hops != kMaxHops) {
    return Mismatch(reason::ARGUMENT_INVALID, "max_hops", std::to_string(kMaxHops),
                    std::to_string(loads.max_hops));
  }
  WeightedWalkLists lists;
  lists.n = loads.n;
  lists.offsets = loads.offsets;
  lists.nodes = loads.nodes;
  lists.loads.assign(loads.loads.begin(), loads.loads.end());
  return lists;
}

}  // namespace interlacer
