#include "model/attention/masks/walk_features.h"

#include <ATen/Functions.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "common/check.h"
#include "common/random.h"
#include "model/attention/core/options.h"
#include "model/attention/masks/walk_gradient.h"
#include "model/runtime/torch_status.h"

namespace interlacer::attention {

namespace {

WalkTerms TermsOf(const Graph& graph, std::vector<std::int64_t> offsets,
                  std::vector<std::int64_t> indices, const std::vector<double>& loads, int hops) {
  const auto entry_count = static_cast<std::int64_t>(indices.size());
  return {MakePattern(graph.size(), graph.size(), std::move(offsets), std::move(indices)),
          at::tensor(loads, at::kDouble).reshape({1, entry_count, hops + 1})};
}

/// The gradient needs no more of the graph than its numbers.
Graph Detached(const Graph& graph) { return {graph.pattern, graph.weights.detach()}; }

}  // namespace

WalkSampler SamplerNamed(const std::string& name) {
  if (name == "iid") return WalkSampler::kIid;
  if (name == "antithetic") return WalkSampler::kAntithetic;
  if (name == "repelling") return WalkSampler::kRepelling;
  if (name == "repelling_per_prefix") return WalkSampler::kRepellingPerPrefix;
  throw StatusException(Mismatch(reason::ARGUMENT_INVALID, "sampler",
                                 "iid, antithetic, repelling or repelling_per_prefix", name));
}

void RequireVisits(const WalkSamplerOptions& options) {
  RequireNumbers(
      "walks",
      static_cast<double>(options.walk_count) * (static_cast<double>(options.max_hops) + 1),
      kMaxVisits, "walks x (hops + 1)");
}

void RequireLoads(std::size_t count, int hops, std::int64_t most) {
  if (count <= static_cast<std::size_t>(most)) return;
  throw StatusException(
      ResourceExhausted(reason::HOST_MEMORY,
                        "walks of " + std::to_string(hops) + " hops: expected at most " +
                            std::to_string(most / (hops + 1)) +
                            " pairs of tokens, got more; take fewer hops or fewer, sampled walks"));
}

WalkTerms SampledTerms(const Graph& graph, const WalkSamplerOptions& options) {
  RequireVisits(options);
  const WalkLoads loads = ValueOrThrow(SampleWalks(ToWalkGraph(graph), options, kMaxSampledLoads));
  WalkTerms terms =
      TermsOf(graph, {loads.offsets.begin(), loads.offsets.end()},
              {loads.nodes.begin(), loads.nodes.end()}, loads.loads, options.max_hops);
  terms.loads = WithWeightGradient(
      graph.weights, terms.loads,
      [of = Detached(graph), options, pattern = terms.pattern](const torch::Tensor& grad) {
        return BackwardOfSamples(of, options, *pattern, grad);
      });
  return terms;
}

double ShareOfWalks(LengthLaw law, const WalkSamplerOptions& options, int t) {
  if (law == LengthLaw::kGeometric) return std::pow(1 - options.halt_probability, t);
  return law == LengthLaw::kUniform
             ? static_cast<double>(options.max_hops + 1 - t) / (options.max_hops + 1)
             : 1.0 / (t + 1);
}

namespace {

/// Edges of one walk, of another law of lengths.
std::vector<std::int64_t> PathOf(const SparsePattern& pattern, const WalkSamplerOptions& options,
                                 LengthLaw law, std::int64_t root, int walk) {
  // Ensembles of geometric walks count upwards; these stay clear of them.
  RandomSequence random(options.seed, RandomStream::kWalks, static_cast<std::uint32_t>(root),
                        ~(options.ensemble * 100003u + static_cast<std::uint32_t>(walk)));
  const double lot = random.Uniform();
  std::vector<std::int64_t> path;
  std::int64_t at = root;
  for (int t = 1; t <= options.max_hops && lot < ShareOfWalks(law, options, t); ++t) {
    const std::int64_t degree = pattern.offsets[at + 1] - pattern.offsets[at];
    if (degree == 0) break;
    path.push_back(pattern.offsets[at] + random.Below(static_cast<std::uint32_t>(degree)));
    at = pattern.indices[path.back()];
  }
  return path;
}

/// The gradient of those loads.
torch::Tensor BackwardOfLaw(const Graph& graph, const WalkSamplerOptions& options, LengthLaw law,
                            const SparsePattern& pattern, const torch::Tensor& grad) {
  torch::Tensor result = at::zeros_like(graph.weights);
  const double* of_loads = grad.const_data_ptr<double>();
  std::vector<double> of_prefixes;
  for (std::int64_t root = 0; root < graph.size(); ++root) {
    const auto first = pattern.indices.begin() + pattern.offsets[root];
    const auto last = pattern.indices.begin() + pattern.offsets[root + 1];
    for (int walk = 0; walk < options.walk_count; ++walk) {
      const auto path = PathOf(*graph.pattern, options, law, root, walk);
      of_prefixes.assign(1, 0);
      for (const std::int64_t edge : path) {
        const auto entry = std::lower_bound(first, last, graph.pattern->indices[edge]);
        const auto t = static_cast<int>(of_prefixes.size());
        of_prefixes.push_back(
            of_loads[(entry - pattern.indices.begin()) * (options.max_hops + 1) + t] /
            (ShareOfWalks(law, options, t) * options.walk_count));
      }
      AddPathGradient(graph, path, 1, of_prefixes, result.mutable_data_ptr<double>());
    }
  }
  return result;
}

}  // namespace

WalkTerms SampledTerms(const Graph& graph, const WalkSamplerOptions& options, LengthLaw law) {
  if (law == LengthLaw::kGeometric) return SampledTerms(graph, options);
  RequireVisits(options);
  const SparsePattern& pattern = *graph.pattern;
  const double* weight = graph.weights.const_data_ptr<double>();
  const auto width = static_cast<std::size_t>(options.max_hops) + 1;
  std::vector<std::int64_t> offsets{0}, indices;
  std::vector<double> loads;
  std::map<std::int64_t, std::vector<double>> row;
  for (std::int64_t root = 0; root < graph.size(); ++root) {
    row.clear();
    for (int walk = 0; walk < options.walk_count; ++walk) {
      std::int64_t at = root;
      double product = 1;
      int t = 0;
      const auto visit = [&] {
        std::vector<double>& of_node = row.try_emplace(at, width, 0.0).first->second;
        of_node[static_cast<std::size_t>(t)] +=
            product / ShareOfWalks(law, options, t) / options.walk_count;
      };
      visit();
      for (const std::int64_t edge : PathOf(pattern, options, law, root, walk)) {
        product *=
            weight[edge] * static_cast<double>(pattern.offsets[at + 1] - pattern.offsets[at]);
        at = pattern.indices[edge];
        ++t;
        visit();
      }
    }
    RequireLoads(loads.size() + row.size() * width, options.max_hops, kMaxSampledLoads);
    for (const auto& [node, of_node] : row) {
      indices.push_back(node);
      loads.insert(loads.end(), of_node.begin(), of_node.end());
    }
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  WalkTerms terms = TermsOf(graph, std::move(offsets), std::move(indices), loads, options.max_hops);
  terms.loads = WithWeightGradient(
      graph.weights, terms.loads,
      [of = Detached(graph), options, law, own = terms.pattern](const torch::Tensor& grad) {
        return BackwardOfLaw(of, options, law, *own, grad);
      });
  return terms;
}

WalkTerms EnumeratedTerms(const Graph& graph, int hops) {
  const SparsePattern& pattern = *graph.pattern;
  const double* weight = graph.weights.const_data_ptr<double>();
  // A gradient takes walks over weights of 0 too, each of which may grow.
  const bool skips_zeros = !graph.weights.requires_grad();
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
        if (load == 0 && skips_zeros) continue;
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
  WalkTerms terms = TermsOf(graph, std::move(offsets), std::move(indices), loads, hops);
  terms.loads = WithWeightGradient(
      graph.weights, terms.loads,
      [of = Detached(graph), own = terms.pattern, numbers = terms.loads](
          const torch::Tensor& grad) { return BackwardOfEnumeration(of, *own, numbers, grad); });
  return terms;
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

WalkTerms OfHeads(const std::vector<WalkTerms>& heads) {
  INTERLACER_CHECK(!heads.empty(), "terms of at least one head");
  if (heads.size() == 1) return heads[0];
  const std::int64_t rows = heads[0].pattern->rows, width = heads[0].loads.size(2);
  std::vector<std::int64_t> offsets{0}, indices, row;
  // Places of every head's entries among all.
  std::vector<std::vector<std::int64_t>> places(heads.size());
  for (std::int64_t i = 0; i < rows; ++i) {
    row.clear();
    for (const WalkTerms& head : heads) {
      const auto first = head.pattern->indices.begin();
      row.insert(row.end(), first + head.pattern->offsets[i], first + head.pattern->offsets[i + 1]);
    }
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const SparsePattern& own = *heads[h].pattern;
      for (std::int64_t e = own.offsets[i]; e < own.offsets[i + 1]; ++e) {
        const auto at = std::lower_bound(row.begin(), row.end(), own.indices[e]) - row.begin();
        places[h].push_back(static_cast<std::int64_t>(indices.size()) + at);
      }
    }
    indices.insert(indices.end(), row.begin(), row.end());
    offsets.push_back(static_cast<std::int64_t>(indices.size()));
  }
  const auto entry_count = static_cast<std::int64_t>(indices.size());
  std::vector<torch::Tensor> loads;
  for (std::size_t h = 0; h < heads.size(); ++h) {
    loads.push_back(at::zeros({entry_count, width}, at::kDouble)
                        .index_add(0, at::tensor(places[h], at::kLong), heads[h].loads[0]));
  }
  return {MakePattern(rows, heads[0].pattern->columns, std::move(offsets), std::move(indices)),
          at::stack(loads)};
}

MaskPairs Combined(const WalkTerms& terms, const torch::Tensor& f) {
  const torch::Tensor loads = terms.loads.to(f.scalar_type());
  if (loads.size(0) == 1) return {terms.pattern, at::matmul(f, loads[0].transpose(0, 1))};
  return {terms.pattern, at::matmul(loads, f.unsqueeze(2)).squeeze(2)};
}

}  // namespace interlacer::attention
