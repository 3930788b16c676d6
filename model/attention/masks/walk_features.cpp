#include "model/attention/masks/walk_features.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/random.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {

WalkTerms SampledTerms(const Graph& graph, const WalkSamplerOptions& options) {
  WalkLoads loads = ValueOrThrow(SampleWalks(ToWalkGraph(graph), options));
  const auto entry_count = static_cast<std::int64_t>(loads.nodes.size());
  return {MakePattern(graph.size(), graph.size(), {loads.offsets.begin(), loads.offsets.end()},
                      {loads.nodes.begin(), loads.nodes.end()}),
          at::tensor(loads.loads, at::kDouble).reshape({entry_count, options.max_hops + 1})};
}

namespace {

/// P(a walk takes at least t hops).
double ShareOfWalks(LengthLaw law, int max_hops, int t) {
  return law == LengthLaw::kUniform ? static_cast<double>(max_hops + 1 - t) / (max_hops + 1)
                                    : 1.0 / (t + 1);
}

void RequireLoads(std::size_t count, int hops) {
  if (count <= static_cast<std::size_t>(kMaxEnumeratedLoads)) return;
  throw StatusException(ResourceExhausted(
      reason::HOST_MEMORY, "walks of " + std::to_string(hops) + " hops: expected at most " +
                               std::to_string(kMaxEnumeratedLoads / (hops + 1)) +
                               " pairs of tokens, got more; take fewer hops or sampled walks"));
}

}  // namespace

WalkTerms SampledTerms(const Graph& graph, const WalkSamplerOptions& options, LengthLaw law) {
  if (law == LengthLaw::kGeometric) return SampledTerms(graph, options);
  const SparsePattern& pattern = *graph.pattern;
  const double* weight = graph.weights.const_data_ptr<double>();
  const auto width = static_cast<std::size_t>(options.max_hops) + 1;
  std::vector<std::int64_t> offsets{0}, indices;
  std::vector<double> loads;
  std::map<std::int64_t, std::vector<double>> row;
  for (std::int64_t root = 0; root < graph.size(); ++root) {
    row.clear();
    for (int walk = 0; walk < options.walk_count; ++walk) {
      // Ensembles of geometric walks count upwards; these stay clear of them.
      RandomSequence random(options.seed, RandomStream::kWalks, static_cast<std::uint32_t>(root),
                            ~(options.ensemble * 100003u + static_cast<std::uint32_t>(walk)));
      const double lot = random.Uniform();
      std::int64_t at = root;
      double product = 1;
      for (int t = 0; t <= options.max_hops && lot < ShareOfWalks(law, options.max_hops, t); ++t) {
        if (t > 0) {
          const std::int64_t degree = pattern.offsets[at + 1] - pattern.offsets[at];
          if (degree == 0) break;
          const std::int64_t edge =
              pattern.offsets[at] + random.Below(static_cast<std::uint32_t>(degree));
          product *= weight[edge] * static_cast<double>(degree);
          at = pattern.indices[edge];
        }
        std::vector<double>& of_node = row.try_emplace(at, width, 0.0).first->second;
        of_node[static_cast<std::size_t>(t)] +=
            product / ShareOfWalks(law, options.max_hops, t) / options.walk_count;
      }
    }
    for (const auto& [node, of_node] : row) {
      indices.push_back(node);
      loads.insert(loads.end(), of_node.begin(), of_node.end());
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const auto entry_count = static_cast<std::int64_t>(indices.size());
  return {MakePattern(graph.size(), graph.size(), std::move(offsets), std::move(indices)),
          at::tensor(loads, at::kDouble).reshape({entry_count, options.max_hops + 1})};
}

WalkTerms EnumeratedTerms(const Graph& graph, int hops) {
  const SparsePattern& pattern = *graph.pattern;
  const double* weight = graph.weights.const_data_ptr<double>();
  const auto n = static_cast<std::size_t>(graph.size());
  const auto width = static_cast<std::size_t>(hops) + 1;
  RequireLoads(n * width, hops);  // every token reaches itself
  std::vector<std::int64_t> offsets{0}, indices, reached;
  std::vector<double> loads, of_row(n * width, 0);
  std::vector<char> is_reached(n, 0);
  for (std::int64_t root = 0; root < graph.size(); ++root) {
    const auto reach = [&](std::int64_t node) {
      if (is_reached[node] != 0) return;
      is_reached[node] = 1;
      reached.push_back(node);
    };
    reached.clear();
    reach(root);
    of_row[root * width] = 1;
    for (std::size_t t = 0; t + 1 < width; ++t) {
      // Rows reached by t hops are among those reached so far.
      const std::size_t known = reached.size();
      for (std::size_t r = 0; r < known; ++r) {
        const std::int64_t at = reached[r];
        const double load = of_row[at * width + t];
        if (load == 0) continue;
        for (std::int64_t e = pattern.offsets[at]; e < pattern.offsets[at + 1]; ++e) {
          reach(pattern.indices[e]);
          of_row[pattern.indices[e] * width + t + 1] += load * weight[e];
        }
      }
    }
    RequireLoads(loads.size() + reached.size() * width, hops);
    std::sort(reached.begin(), reached.end());
    for (const std::int64_t node : reached) {
      indices.push_back(node);
      loads.insert(loads.end(), of_row.begin() + node * width, of_row.begin() + (node + 1) * width);
      std::fill(of_row.begin() + node * width, of_row.begin() + (node + 1) * width, 0);
      is_reached[node] = 0;
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const auto entry_count = static_cast<std::int64_t>(indices.size());
  return {MakePattern(graph.size(), graph.size(), std::move(offsets), std::move(indices)),
          at::tensor(loads, at::kDouble).reshape({entry_count, hops + 1})};
}

Graph WithoutImportanceWeights(const Graph& graph, double halt_probability) {
  std::vector<double> weights;
  for (std::int64_t i = 0; i < graph.size(); ++i) {
    const std::int64_t degree = graph.pattern->offsets[i + 1] - graph.pattern->offsets[i];
    weights.insert(weights.end(), static_cast<std::size_t>(degree),
                   (1 - halt_probability) / static_cast<double>(degree));
  }
  return {graph.pattern, at::tensor(weights, at::kDouble).reshape({1, -1})};
}

MaskPairs Combined(const WalkTerms& terms, const torch::Tensor& f) {
  return {terms.pattern, at::matmul(f, terms.loads.to(f.scalar_type()).transpose(0, 1))};
}

}  // namespace interlacer::attention
