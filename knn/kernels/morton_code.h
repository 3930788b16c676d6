#pragma once

/// The place of a cell on the Morton curve: the arithmetic that the CPU and CUDA forms of
/// knn/spatial_order.h share. In double, rounded operation by operation, so that both give equal
/// codes. Lengths in metres. Pure functions.

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

inline constexpr int kMortonCellBits = 21;  // an axis

/// Bits of a 21-bit number, two zero bits after each.
INTERLACER_HOST_DEVICE inline std::uint64_t SpreadBits(std::uint64_t x) {
  x = (x | (x << 32)) & 0x001F00000000FFFFull;
  x = (x | (x << 16)) & 0x001F0000FF0000FFull;
  x = (x | (x << 8)) & 0x100F00F00F00F00Full;
  x = (x | (x << 4)) & 0x10C30C30C30C30C3ull;
  x = (x | (x << 2)) & 0x1249249249249249ull;
  return x;
}

/// Code of a point at or above the cloud's lowest corner; the last cell takes what lies beyond.
INTERLACER_HOST_DEVICE inline std::uint64_t MortonCodeOf(const float* point_m, const double* low_m,
                                                         double cell_edge_m) {
  constexpr double kLastCell = (1 << kMortonCellBits) - 1;
  std::uint64_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    double cell = (point_m[axis] - low_m[axis]) / cell_edge_m;
    if (!(cell > 0)) cell = 0;
    if (cell > kLastCell) cell = kLastCell;
    code |= SpreadBits(static_cast<std::uint64_t>(cell)) << axis;
  }
  return code;
}

}  // namespace interlacer
