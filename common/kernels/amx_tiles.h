#pragma once

/// The shape of the tiles of AMX: eight of 16 rows of 64 bytes. For files compiled for AMX.
///
/// Constant, as its users must keep it: the intrinsic of GCC 12 that loads it says of eight bytes
/// alone that it reads them, so that stores to a local object would be left out.

#include <cstdint>

namespace interlacer {

struct alignas(64) TileConfig {
  std::uint8_t palette = 1;
  std::uint8_t start_row = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  std::uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
inline constexpr TileConfig kWholeTiles;

}  // namespace interlacer
