#pragma once

/// The uniform grid of cells that the exact neighbour search uses, on CPU and CUDA alike.
///
/// Lengths in metres; cells are numbered x fastest, so the cells of one row are contiguous. The
/// box need not hold every point: a point outside lives in the nearest border cell, and the outer
/// side of a border cell counts as infinitely far. Coordinates are mapped in double and the map is
/// monotone, so SearchedRadius holds for every finite float. Value types, pure functions.

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

struct CellGrid {
  double origin_m[3] = {0, 0, 0};
  double edge_m = 1;
  std::int32_t cells[3] = {1, 1, 1};

  std::int64_t cell_count() const {
    return static_cast<std::int64_t>(cells[0]) * cells[1] * cells[2];
  }
};

/// Cell coordinate of a point on one axis.
INTERLACER_HOST_DEVICE inline std::int32_t CellOnAxis(const CellGrid& grid, int axis, float x) {
  const double cell = (static_cast<double>(x) - grid.origin_m[axis]) * (1 / grid.edge_m);
  const std::int32_t last = grid.cells[axis] - 1;
  if (!(cell > 0)) return 0;
  return cell >= last ? last : static_cast<std::int32_t>(cell);
}

INTERLACER_HOST_DEVICE inline std::int32_t CellIndex(const CellGrid& grid, std::int32_t cx,
                                                     std::int32_t cy, std::int32_t cz) {
  return (cz * grid.cells[1] + cy) * grid.cells[0] + cx;
}

/// Cell of a point [3].
INTERLACER_HOST_DEVICE inline std::int32_t CellOfPoint(const CellGrid& grid, const float* point_m) {
  return CellIndex(grid, CellOnAxis(grid, 0, point_m[0]), CellOnAxis(grid, 1, point_m[1]),
                   CellOnAxis(grid, 2, point_m[2]));
}

/// Cells within `ring` of a centre cell, cut at the border.
struct CellBlock {
  std::int32_t low[3];
  std::int32_t high[3];
};
INTERLACER_HOST_DEVICE inline CellBlock BlockAround(const CellGrid& grid,
                                                    const std::int32_t center[3],
                                                    std::int32_t ring) {
  CellBlock block;
  for (int axis = 0; axis < 3; ++axis) {
    block.low[axis] = center[axis] > ring ? center[axis] - ring : 0;
    const std::int32_t last = grid.cells[axis] - 1;
    block.high[axis] = last - center[axis] > ring ? center[axis] + ring : last;
  }
  return block;
}

/// Every point outside the block is farther than this from the query; infinite if the block
/// reaches the border on all six sides. A little less than the exact distance, to cover rounding.
INTERLACER_HOST_DEVICE inline double SearchedRadius(const CellGrid& grid, const CellBlock& block,
                                                    const float query_m[3]) {
  double radius = 1e300;
  for (int axis = 0; axis < 3; ++axis) {
    const double x = query_m[axis];
    const double scale = x < 0 ? -x : x;
    const double shift = grid.origin_m[axis] < 0 ? -grid.origin_m[axis] : grid.origin_m[axis];
    const double slack = 1e-9 * grid.edge_m + 1e-14 * (scale + shift);
    if (block.low[axis] > 0) {
      const double to_low = x - (grid.origin_m[axis] + block.low[axis] * grid.edge_m) - slack;
      radius = to_low < radius ? to_low : radius;
    }
    if (block.high[axis] < grid.cells[axis] - 1) {
      const double to_high = grid.origin_m[axis] + (block.high[axis] + 1) * grid.edge_m - x - slack;
      radius = to_high < radius ? to_high : radius;
    }
  }
  return radius > 0 ? radius : 0;
}

/// True if no point outside the searched radius can come before a neighbour at `worst_sq_dist_m2`,
/// not even on a tie. The margin covers the rounding of the float32 squared distance.
INTERLACER_HOST_DEVICE inline bool SearchIsDone(double radius_m, float worst_sq_dist_m2) {
  if (radius_m >= 1e300) return true;
  return worst_sq_dist_m2 < radius_m * radius_m * (1 - 1e-6) - 1e-37;
}

}  // namespace interlacer
