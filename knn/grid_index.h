#pragma once

/// Exact neighbours by a uniform grid of cells, on the CPU; the CUDA form is
/// knn/kernels/grid_knn_cuda.h.
///
/// Contract of knn/knn_index.h. The grid adapts to the cloud: its box holds the bulk of the points
/// and far ones live in border cells; the cell edge aims at a few points per occupied cell. Any
/// cloud gives the exact result; heavy clusters and far outliers only cost time.

#include "common/geometry.h"
#include "knn/kernels/cell_grid.h"
#include "knn/knn_index.h"

namespace interlacer {

class GridIndex : public KnnIndex {
 public:
  StatusOr<KnnGraph> Graph(std::span<const float> positions_m, int k) const override;
};

/// Box and cell edge for a cloud of finite points [n,3].
CellGrid ChooseCellGrid(std::span<const float> positions_m);

/// Cells of edge `edge_m` over the box; the edge grows until there are at most `max_cells`.
CellGrid GridWithEdge(const Box& box, double edge_m, std::int64_t max_cells);

}  // namespace interlacer
