#include "bench/device/walk_problem.h"

#include "bench/clouds.h"
#include "bench/stage_cases.h"
#include "knn/grid_index.h"
#include "knn/walk_lists.h"

namespace interlacer::bench {

WalkProblem MakeWalkProblem(const Options& options) {
  WalkProblem problem;
  problem.positions_m = InSpatialOrder(MakeCloud(options));
  problem.graph = GridIndex().Graph(problem.positions_m, kGraphNeighbors).value();
  problem.lists = BuildWalkLists(problem.graph).value();
  return problem;
}

}  // namespace interlacer::bench
