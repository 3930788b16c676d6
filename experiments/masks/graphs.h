#pragma once

/// The graphs and trees of the experiments on masks. Undirected, without self loops or repeated
/// edges. Pure functions of their arguments, thread-safe.

#include <cstdint>
#include <vector>

#include "model/attention/files/mask_measurements.h"

namespace interlacer {

attention::EdgeLists PathGraph(std::int64_t size);
/// Node i and the `reach` next ones on either side of a circle of more than 2 `reach` nodes.
attention::EdgeLists CirculantGraph(std::int64_t size, std::int64_t reach);
/// side x side nodes, row by row.
attention::EdgeLists GridGraph(std::int64_t side);
/// `edges` different pairs, at most a quarter of all.
attention::EdgeLists RandomGraph(std::int64_t size, std::int64_t edges, std::uint64_t seed);
/// The edges of a tree given by parents.
attention::EdgeLists TreeGraph(const std::vector<std::int64_t>& parents);

/// By a seed of its own (experiments/binary_tree.h).
std::vector<std::int64_t> RandomBinaryTree(std::int64_t size, std::uint64_t seed);
/// A path of `spine` nodes, 2 or more, with the others hanging on nodes inside it: of diameter
/// spine - 1.
std::vector<std::int64_t> Caterpillar(std::int64_t size, std::int64_t spine, std::uint64_t seed);

}  // namespace interlacer
