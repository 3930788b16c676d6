#pragma once

/// Place of a cell on a Hilbert curve through 1024^3 cells: cells that follow each other touch.
/// Pure function, host and device.
/// Source: hilbert.

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

inline constexpr int kHilbertBits = 10;  // an axis
inline constexpr int kHilbertCodeBits = 3 * kHilbertBits;

/// Coordinates below 2^kHilbertBits.
INTERLACER_HOST_DEVICE inline std::uint32_t HilbertCode(std::uint32_t x, std::uint32_t y,
                                                        std::uint32_t z) {
  std::uint32_t axes[3] = {x, y, z};
  // Undo the rotations of every octant, largest first.
  for (std::uint32_t bit = 1u << (kHilbertBits - 1); bit > 1; bit >>= 1) {
    const std::uint32_t lower = bit - 1;
    for (std::uint32_t& axis : axes) {
      const std::uint32_t swapped = (axis & bit) != 0 ? 0 : (axes[0] ^ axis) & lower;
      axes[0] ^= (axis & bit) != 0 ? lower : swapped;
      axis ^= swapped;
    }
  }
  // Gray code.
  axes[1] ^= axes[0];
  axes[2] ^= axes[1];
  std::uint32_t flips = 0;
  for (std::uint32_t bit = 1u << (kHilbertBits - 1); bit > 1; bit >>= 1) {
    flips ^= (axes[2] & bit) != 0 ? bit - 1 : 0;
  }
  std::uint32_t code = 0;
  for (int bit = kHilbertBits - 1; bit >= 0; --bit) {
    for (const std::uint32_t axis : axes) code = code << 1 | (((axis ^ flips) >> bit) & 1);
  }
  return code;
}

}  // namespace interlacer
