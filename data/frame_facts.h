#pragma once

/// Facts about one frame for validation: whether it can be decoded, how much depth it has, and
/// where.
/// Pure functions over files, thread-safe.

#include <optional>

#include "common/status.h"
#include "data/episode_reader.h"

namespace interlacer {

struct FrameFacts {
  Status color;  ///< OK if the colour image can be decoded
  Status depth;  ///< OK if the depth image can; the numbers below hold only then
  double valid_depth_ratio = 0;
  /// Share of pixels inside workspace and range: valid_depth_ratio times what lies inside of the
  /// measured pixels of 160 rows or more.
  double workspace_ratio = 0;
  std::optional<double> median_depth_m;
  double saturated_ratio = 0;  ///< share of 65535, which is no distance but the end of the integers
  bool is_constant = false;    ///< every pixel has the same depth: no sensor does that
};

/// Without `decode_color` the colour image counts as decodable.
FrameFacts MeasureFrame(const EpisodeReader& episode, int step, int camera, bool decode_color);

}  // namespace interlacer
