#pragma once

/// The clouds that stages are measured on. [tokens,3] in metres, times one after the other; equal
/// options give equal clouds. Pure functions.

#include <array>
#include <cstdint>
#include <vector>

#include "bench/options.h"
#include "common/geometry.h"

namespace interlacer::bench {

/// Where the two cameras stand that see the table, the origin in their middle.
inline constexpr std::array<Vec3d, 2> kEyesM = {{{0.75, 0.55, 0.75}, {0.75, -0.55, 0.75}}};

/// sheet: a table with things on it, seen by two RGB-D cameras with 1 mm of depth noise; the second
/// time has new noise, other pixels and one thing moved by 2 cm. cube: uniform in an edge of 1 m.
std::vector<float> MakeCloud(const Options& options);

/// Uniform in [low, high); stream `draw` of the seed.
std::vector<float> RandomValues(std::size_t count, std::uint64_t seed, std::uint32_t draw,
                                double low = -1, double high = 1);

/// The positions in Morton order of cells of 1 cm, the order in which a model keeps its tokens.
std::vector<float> InSpatialOrder(const std::vector<float>& positions_m);

}  // namespace interlacer::bench
