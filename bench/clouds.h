#pragma once

/// Point clouds on which stages are measured: [tokens,3] in metres, one time after the other. Equal
/// options give equal clouds. Pure functions.

#include <array>
#include <cstdint>
#include <vector>

#include "bench/options.h"
#include "common/geometry.h"

namespace interlacer::bench {

/// Positions of the two cameras above the table; the origin is in its middle.
inline constexpr std::array<Vec3d, 2> kEyesM = {{{0.75, 0.55, 0.75}, {0.75, -0.55, 0.75}}};

/// sheet: a table with objects on it, seen by two RGB-D cameras with 1 mm of depth noise; the
/// second time has new noise, other pixels and one object moved by 2 cm. cube: uniform in a cube of
/// edge 1 m.
std::vector<float> MakeCloud(const Options& options);

/// Uniform numbers in [low, high); stream `draw` of the seed.
std::vector<float> RandomValues(std::size_t count, std::uint64_t seed, std::uint32_t draw,
                                double low = -1, double high = 1);

/// Sorts positions in Morton order of cells of 1 cm, as a model sorts its tokens.
std::vector<float> InSpatialOrder(const std::vector<float>& positions_m);

}  // namespace interlacer::bench
