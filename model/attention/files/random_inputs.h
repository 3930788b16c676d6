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

struct InputSizes {
  std::int64_t length = 0;
  std::int64_t batch = 1, heads = 1;
  std::int64_t width = 8;  ///< of q, k and v
};
/// float32: a graph of three or four edges a token, a random tree, a grid of two sides, which are
/// equal or differ by a factor of two if the length is a power of two; it has to be one for
/// gdk_hypercube. A mask [1,L,L] for mechanisms that read one.
AttentionInputs LongInputs(const MechanismInfo& mechanism, const InputSizes& sizes,
                           std::uint64_t seed);

}  // namespace interlacer::attention
