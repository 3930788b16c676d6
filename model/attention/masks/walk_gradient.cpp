// Gradients of walk loads to the weights of edges: the walks are walked again.

#include "model/attention/masks/walk_gradient.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "model/graph/walk_sampler.h"
#include "model/ops/saved_object.h"

namespace interlacer::attention {
namespace {

class LoadsFunction : public torch::autograd::Function<LoadsFunction> {
 public:
  static torch::Tensor forward(torch::autograd::AutogradContext* context, const torch::Tensor&,
                               const torch::Tensor& loads,
                               const std::shared_ptr<const LoadsBackward>& backward_of_loads) {
    SaveObject(context, "backward", backward_of_loads);
    return loads.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                 const torch::autograd::variable_list& grads) {
    const auto of_loads = LoadObject<LoadsBackward>(context, "backward");
    return {(*of_loads)(grads[0].contiguous()), torch::Tensor(), torch::Tensor()};
  }
};

}  // namespace

torch::Tensor WithWeightGradient(const torch::Tensor& weights, const torch::Tensor& loads,
                                 LoadsBackward backward) {
  if (!weights.requires_grad()) return loads;
  return LoadsFunction::apply(weights, loads,
                              std::make_shared<const LoadsBackward>(std::move(backward)));
}

void AddPathGradient(const Graph& graph, const std::vector<std::int64_t>& path, double step_factor,
                     const std::vector<double>& of_prefixes, double* to_weights) {
  const SparsePattern& pattern = *graph.pattern;
  const double* weight = graph.weights.const_data_ptr<double>();
  const std::size_t hops = path.size();
  std::vector<double> factor(hops), before(hops + 1, 1);
  for (std::size_t t = 0; t < hops; ++t) {
    const auto at = std::upper_bound(pattern.offsets.begin(), pattern.offsets.end(), path[t]) - 1;
    factor[t] = step_factor * static_cast<double>(at[1] - at[0]);
    before[t + 1] = before[t] * factor[t] * weight[path[t]];
  }
  double after = 0;
  for (std::size_t t = hops; t-- > 0;) {
    after += of_prefixes[t + 1];
    to_weights[path[t]] += before[t] * factor[t] * after;
    after *= factor[t] * weight[path[t]];
  }
}

torch::Tensor BackwardOfSamples(const Graph& graph, const WalkSamplerOptions& options,
                                const SparsePattern& pattern, const torch::Tensor& grad) {
  const WeightedGraph walk_graph = ToWalkGraph(graph);
  torch::Tensor result = at::zeros_like(graph.weights.detach());
  auto* to_weights = result.mutable_data_ptr<double>();
  const double* of_loads = grad.const_data_ptr<double>();
  const std::int64_t width = options.max_hops + 1;
  std::vector<double> of_prefixes;
  for (std::int64_t root = 0; root < graph.size(); ++root) {
    const auto first = pattern.indices.begin() + pattern.offsets[root];
    const auto last = pattern.indices.begin() + pattern.offsets[root + 1];
    for (const auto& path : WalkPaths(walk_graph, options, static_cast<std::int32_t>(root))) {
      of_prefixes.assign(1, 0);
      for (const std::int64_t edge : path) {
        const auto entry = std::lower_bound(first, last, graph.pattern->indices[edge]);
        const auto t = static_cast<std::int64_t>(of_prefixes.size());
        of_prefixes.push_back(of_loads[(entry - pattern.indices.begin()) * width + t] /
                              options.walk_count);
      }
      AddPathGradient(graph, path, 1 / (1 - options.halt_probability), of_prefixes, to_weights);
    }
  }
  return result;
}

torch::Tensor BackwardOfEnumeration(const Graph& graph, const SparsePattern& pattern,
                                    const torch::Tensor& loads, const torch::Tensor& grad) {
  torch::Tensor result = at::zeros_like(graph.weights.detach());
  auto* to_weights = result.mutable_data_ptr<double>();
  const double* weight = graph.weights.const_data_ptr<double>();
  const double* load = loads.const_data_ptr<double>();
  const torch::Tensor adjoints = grad.clone();
  auto* adjoint = adjoints.mutable_data_ptr<double>();
  const std::int64_t width = grad.size(-1);
  std::vector<std::int64_t> entry_of(static_cast<std::size_t>(graph.size()), -1);
  for (std::int64_t root = 0; root < graph.size(); ++root) {
    const std::int64_t first = pattern.offsets[root], last = pattern.offsets[root + 1];
    for (std::int64_t entry = first; entry < last; ++entry)
      entry_of[pattern.indices[entry]] = entry;
    for (std::int64_t t = width - 1; t-- > 0;) {
      for (std::int64_t entry = first; entry < last; ++entry) {
        const std::int64_t at = pattern.indices[entry];
        for (std::int64_t e = graph.pattern->offsets[at]; e < graph.pattern->offsets[at + 1]; ++e) {
          const std::int64_t next = entry_of[graph.pattern->indices[e]];
          if (next == -1) continue;  // beyond the last hop
          to_weights[e] += load[entry * width + t] * adjoint[next * width + t + 1];
          adjoint[entry * width + t] += weight[e] * adjoint[next * width + t + 1];
        }
      }
    }
    for (std::int64_t entry = first; entry < last; ++entry) entry_of[pattern.indices[entry]] = -1;
  }
  return result;
}

}  // namespace interlacer::attention
