#pragma once

/// How many rows of a view one unit of work draws: as many as take about kTileS by the tiles
/// before.
///
/// The first tile is small, and each has at most twice the pixels that fitted before or that the
/// first had, whichever is more, because rows differ. A tile takes longer than kTileS where its
/// rows cost more than those before; the next one is then smaller, down to a row. Bytes of a view
/// do not depend on its tiles. Value type.

#include <algorithm>
#include <cstdint>

namespace interlacer {

inline constexpr double kTileS = 0.02;
inline constexpr std::int64_t kFirstTilePixels = 1024;

class TileSize {
 public:
  /// At least one row, at most `row_count`.
  int Rows(int width_px, int row_count) const {
    const std::int64_t rows = pixel_count_ / std::max(width_px, 1);
    return static_cast<int>(std::clamp<std::int64_t>(rows, 1, std::max(row_count, 1)));
  }
  /// A tile has been drawn.
  void Note(std::int64_t pixel_count, double seconds) {
    const double fitting = seconds > 0 ? static_cast<double>(pixel_count) * kTileS / seconds : 1e9;
    const double most = 2.0 * static_cast<double>(std::max(pixel_count_, kFirstTilePixels));
    pixel_count_ = static_cast<std::int64_t>(std::min(fitting, most));
  }

 private:
  std::int64_t pixel_count_ = kFirstTilePixels;
};

}  // namespace interlacer
