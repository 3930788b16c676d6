#pragma once

/// Morton code of a point: the arithmetic that the CPU and CUDA forms of knn/spatial_order.h share.
/// In double, rounded operation by operation, so that both give equal codes. Lengths in metres.
/// Pure functions.

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

inline constexpr int kMortonCellBits = 10;  // per axis, so that a code fits into 32 bits
inline constexpr int kMortonCodeBits = 3 * kMortonCellBits;

/// Where cells begin and how long their edges are.
struct MortonCells {
  double low_m[3];
  double edge_m;
};

/// Cells of edge `edge_m`, or of a longer one that lets the cells of an axis hold the cloud.
INTERLACER_HOST_DEVICE inline MortonCells MortonCellsOf(const float* low_m, const float* high_m,
                                                        double edge_m) {
  MortonCells cells = {{low_m[0], low_m[1], low_m[2]}, edge_m};
  for (int axis = 0; axis < 3; ++axis) {
    const double needed_m = (high_m[axis] - cells.low_m[axis]) / (1 << kMortonCellBits);
    if (needed_m > cells.edge_m) cells.edge_m = needed_m;
  }
  return cells;
}

/// Bits of a 10-bit number, two zero bits after each.
INTERLACER_HOST_DEVICE inline std::uint32_t SpreadBits(std::uint32_t x) {
  x = (x | (x << 16)) & 0x030000FFu;
  x = (x | (x << 8)) & 0x0300F00Fu;
  x = (x | (x << 4)) & 0x030C30C3u;
  x = (x | (x << 2)) & 0x09249249u;
  return x;
}

/// Code of a point of the cloud; the last cell of an axis takes the cloud's highest points.
INTERLACER_HOST_DEVICE inline std::uint32_t MortonCodeOf(const float* point_m,
                                                         const MortonCells& cells) {
  constexpr double kLastCell = (1 << kMortonCellBits) - 1;
  std::uint32_t code = 0;
  for (int axis = 0; axis < 3; ++axis) {
    double cell = (point_m[axis] - cells.low_m[axis]) / cells.edge_m;
    if (!(cell > 0)) cell = 0;
    if (cell > kLastCell) cell = kLastCell;
    code |= SpreadBits(static_cast<std::uint32_t>(cell)) << axis;
  }
  return code;
}

}  // namespace interlacer
