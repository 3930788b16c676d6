#pragma once

/// Kernels of the exact neighbour search on a grid of cells, CPU form.
///
/// Neighbours are ordered by (squared distance, index), squared distance being
/// fma(dz, dz, fma(dy, dy, dx * dx)) in float32; self is left out by index. The three instruction
/// sets give equal results. Raw pointers; no kernel allocates.

#include <cstdint>

#include "common/kernels/instruction_sets.h"
#include "knn/kernels/cell_grid.h"

namespace interlacer {

/// Points ordered by (cell, original index): x, y, z, index [n]; the points of cell c are
/// [cell_begin[c], cell_begin[c + 1]), cell_begin [cell_count + 1].
struct CellSortedCloud {
  std::int64_t n = 0;
  const float* x_m = nullptr;
  const float* y_m = nullptr;
  const float* z_m = nullptr;
  const std::int32_t* index = nullptr;
  const std::int32_t* cell_begin = nullptr;
};

/// Memory that SortIntoCells fills; `cell_of_point` [n] is scratch.
struct CellSortBuffers {
  float* x_m = nullptr;
  float* y_m = nullptr;
  float* z_m = nullptr;
  std::int32_t* index = nullptr;
  std::int32_t* cell_begin = nullptr;
  std::int32_t* cell_of_point = nullptr;
};

/// Stable counting sort of positions [n,3] into cells.
CellSortedCloud SortIntoCells(const CellGrid& grid, const float* positions_m, std::int64_t n,
                              const CellSortBuffers& buffers);

/// Neighbours of the points at sorted places [begin, end); row index[p] of neighbors
/// [n, out_degree] is written. 1 <= out_degree < n. best_sq_dist [out_degree] and
/// best_index [out_degree] are scratch.
using GridNeighborsFn = void (*)(const CellGrid& grid, const CellSortedCloud& cloud, int out_degree,
                                 std::int64_t begin, std::int64_t end, float* best_sq_dist,
                                 std::int32_t* best_index, std::int32_t* neighbors);

INTERLACER_FOR_INSTRUCTION_SETS(void GridNeighbors(const CellGrid& grid,
                                                   const CellSortedCloud& cloud, int out_degree,
                                                   std::int64_t begin, std::int64_t end,
                                                   float* best_sq_dist, std::int32_t* best_index,
                                                   std::int32_t* neighbors);)

}  // namespace interlacer
