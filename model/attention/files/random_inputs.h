#pragma once

/// Random tokens for checks: sizes, numbers, graph, grid, tree, positions and padding by a seed.
///
/// Graphs are undirected with some tokens without edges; trees are forests. Grids and positions are
/// of a shape that `mechanism` takes. float64. Thread-safety: pure function.

#include <cstdint>

#include "model/attention/core/mechanism.h"

namespace interlacer::attention {

AttentionInputs RandomInputs(const MechanismInfo& mechanism, std::uint64_t seed);

}  // namespace interlacer::attention
