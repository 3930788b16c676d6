#include "knn/kernels/grid_knn.h"

namespace interlacer {

/// Bound: memory; every point is read twice, and the second time 16 bytes are written wherever its
/// cell lies. One thread: a place depends on all points before it, which keeps the order stable.
/// Layout: an array for each coordinate, so that neighbouring candidates fill a vector.
CellSortedCloud SortIntoCells(const CellGrid& grid, const float* positions_m, std::int64_t n,
                              const CellSortBuffers& buffers) {
  const std::int64_t cell_count = grid.cell_count();
  for (std::int64_t c = 0; c <= cell_count; ++c) buffers.cell_begin[c] = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::int32_t cell = CellOfPoint(grid, positions_m + 3 * i);
    buffers.cell_of_point[i] = cell;
    ++buffers.cell_begin[cell];
  }
  // Counts become ends; filling from the back turns them into begins and keeps the order stable.
  std::int32_t sum = 0;
  for (std::int64_t c = 0; c <= cell_count; ++c) {
    sum += buffers.cell_begin[c];
    buffers.cell_begin[c] = sum;
  }
  for (std::int64_t i = n - 1; i >= 0; --i) {
    const std::int32_t place = --buffers.cell_begin[buffers.cell_of_point[i]];
    buffers.x_m[place] = positions_m[3 * i];
    buffers.y_m[place] = positions_m[3 * i + 1];
    buffers.z_m[place] = positions_m[3 * i + 2];
    buffers.index[place] = static_cast<std::int32_t>(i);
  }
  return {n, buffers.x_m, buffers.y_m, buffers.z_m, buffers.index, buffers.cell_begin};
}

}  // namespace interlacer
