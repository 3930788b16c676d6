#pragma once

/// A cloud in spatial order with its neighbour graph and walk lists, made on the CPU. Pure function
/// of the options.

#include <vector>

#include "bench/options.h"
#include "knn/knn_graph.h"

namespace interlacer::bench {

inline constexpr int kWalkNeighbors = 3;

struct WalkProblem {
  std::vector<float> positions_m;
  KnnGraph graph;
  WalkLists lists;
};

WalkProblem MakeWalkProblem(const Options& options);

}  // namespace interlacer::bench
