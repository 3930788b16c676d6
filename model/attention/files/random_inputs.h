#pragma once

/// Random tokens for checks: sizes, numbers, graph, grid, tree, positions and padding by a seed.
///
/// Graphs are undirected with some tokens without edges; trees are forests. Grids and positions are
/// of a shape that `mechanism` takes. Thread-safety: pure functions.

#include <cstdint>

#include "model/attention/core/mechanism.h"

namespace interlacer::attention {

/// A few tokens up to 125, float64.
AttentionInputs RandomInputs(const MechanismInfo& mechanism, std::uint64_t seed);

/// One batch and head of `length` tokens, a power of two: float32, width 8, a graph of three or
/// four edges a token, a random tree, a grid of two sides that are equal or differ by a factor of
/// two.
AttentionInputs LongInputs(const MechanismInfo& mechanism, std::int64_t length, std::uint64_t seed);

}  // namespace interlacer::attention
