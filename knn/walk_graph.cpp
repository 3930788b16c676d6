#include "knn/walk_graph.h"

#include "knn/walk_lists.h"

namespace interlacer {

StatusOr<WalkGraph> BuildWalkGraph(std::span<const float> positions_m,
                                   const WalkGraphOptions& options) {
  WalkGraph result;
  INTERLACER_ASSIGN_OR_RETURN(const std::unique_ptr<KnnIndex> index, MakeKnnIndex(options.backend));
  INTERLACER_ASSIGN_OR_RETURN(result.graph, index->Graph(positions_m, options.k));
  INTERLACER_ASSIGN_OR_RETURN(result.lists, BuildWalkLists(result.graph));
  if (options.with_transposed) result.transposed = Transpose(result.lists);
  return result;
}

}  // namespace interlacer
