#pragma once

/// How fine the grid of cells that may be near a particle is, and how far it looks; for both forms,
/// render/occupancy_grid.h and cloud_index_cuda.h.

namespace interlacer {

/// Along an axis, unless that needs more cells than a grid may have.
inline constexpr int kCellsPerRadius = 8;
/// Covers the rounding of float32 squared distances and of cell numbers.
inline constexpr double kReachSlack = 1.0 + 1e-5;

}  // namespace interlacer
