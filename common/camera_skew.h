#pragma once

/// Makes the finding CAMERA_SKEW_HIGH where the exposures of one observation lie further apart than
/// half of the accepted limit. Pure function, thread-safe.

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

#include "common/scene.h"

namespace interlacer {

inline constexpr char kCameraSkewHigh[] = "CAMERA_SKEW_HIGH";

inline std::optional<Finding> FindCameraSkew(double skew_s, double max_skew_s, std::string field) {
  if (!(skew_s > 0.5 * max_skew_s)) return std::nullopt;
  char message[80];
  std::snprintf(message, sizeof(message), "the cameras' capture times differ by %.1f ms",
                1e3 * skew_s);
  return Finding{kCameraSkewHigh, message, std::move(field)};
}

}  // namespace interlacer
