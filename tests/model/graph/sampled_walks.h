#pragma once

/// Walks by the samplers on neighbour graphs of random clouds, for the tests of walk samplers.

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "knn/sparse_graph.h"
#include "model/graph/walk_sampler.h"
#include "tests/support/brute_force.h"
#include "tests/support/clouds.h"

namespace interlacer::testing {

/// Modulation by hop.
inline const std::vector<double> kHalving = {1, 0.5, 0.25, 0.125};
inline const std::vector<double> kLongHalving = {1,      0.5,     0.25,     0.125,
                                                 0.0625, 0.03125, 0.015625, 0.0078125};

inline WeightedGraph NeighborGraph(int n, EdgeWeight weighting, std::uint64_t seed) {
  const std::vector<float> cloud = CubeCloud(n, seed);
  const SparseGraph graph = *ToSparse(BruteForceGraph(cloud, 3));
  WeightedGraph weighted = *ToWeightedGraph(graph, *EdgeWeights(graph, weighting, cloud));
  if (weighting == EdgeWeight::kUniform) {  // a third in double, not in float
    weighted.weights.assign(weighted.weights.size(), 1.0 / 3);
  }
  return weighted;
}

inline WalkLoads Sampled(const WeightedGraph& graph, WalkSampler sampler, int walks, double halt,
                         std::uint64_t seed, int max_hops = 3, bool antithetic_halting = false) {
  WalkSamplerOptions options;
  options.sampler = sampler;
  options.walk_count = walks;
  options.halt_probability = halt;
  options.max_hops = max_hops;
  options.seed = seed;
  options.antithetic_halting = antithetic_halting;
  StatusOr<WalkLoads> loads = SampleWalks(graph, options);
  EXPECT_TRUE(loads.ok()) << loads.status().ToString();
  return *std::move(loads);
}

}  // namespace interlacer::testing
