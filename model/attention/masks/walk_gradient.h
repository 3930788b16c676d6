#pragma once

/// Gradients of walk loads to the weights of the graph's edges, float64.
///
/// Walks themselves do not depend on weights: a load is a product of weights and degrees.
/// Thread-safety: pure functions. Source: grf-masking, Alg. 1 (loads).

#include <torch/types.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "model/attention/masks/graph.h"

namespace interlacer::attention {

/// Of loads [1,nnz,hops+1] to weights [1,E].
using LoadsBackward = std::function<torch::Tensor(const torch::Tensor& grad)>;

/// `loads` with a gradient to `weights`, if those require one.
torch::Tensor WithWeightGradient(const torch::Tensor& weights, const torch::Tensor& loads,
                                 LoadsBackward backward);

/// Adds the gradient of sum over t of of_prefixes[t] times the load of `path` after t hops. A hop
/// multiplies by weight, number of out-edges and `step_factor`.
void AddPathGradient(const Graph& graph, const std::vector<std::int64_t>& path, double step_factor,
                     const std::vector<double>& of_prefixes, double* to_weights);

/// Of the loads of SampleWalks and of EnumeratedTerms, with their pattern.
torch::Tensor BackwardOfSamples(const Graph& graph, const WalkSamplerOptions& options,
                                const SparsePattern& pattern, const torch::Tensor& grad);
torch::Tensor BackwardOfEnumeration(const Graph& graph, const SparsePattern& pattern,
                                    const torch::Tensor& loads, const torch::Tensor& grad);

}  // namespace interlacer::attention
