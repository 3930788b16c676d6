#pragma once

/// An order of points in which neighbours in space are close in memory: Morton order of cells.
///
/// Cells of edge cell_edge_m start at the cloud's minimum corner, 2^10 an axis; a cloud that is
/// longer than those has cells that much longer. Points of one cell keep their order, so the result
/// is a function of the positions alone. Errors: those of CheckCloud; ARGUMENT_INVALID if
/// cell_edge_m is not positive. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// order[place] = original index.
StatusOr<std::vector<std::int32_t>> MortonOrder(std::span<const float> positions_m,
                                                double cell_edge_m);

/// place_of[original index] = place; the way back.
std::vector<std::int32_t> InverseOrder(std::span<const std::int32_t> order);

}  // namespace interlacer
