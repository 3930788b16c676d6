#pragma once

/// A cloud in spatial order with its neighbour graph and walk lists, computed on the CPU. Pure
/// function of the options.

#include <vector>

#include "bench/options.h"
#include "knn/knn_graph.h"

namespace interlacer::bench {

struct WalkProblem {
  std::vector<float> positions_m;
  KnnGraph graph;
  WalkLists lists;
};

WalkProblem MakeWalkProblem(const Options& options);

}  // namespace interlacer::bench
