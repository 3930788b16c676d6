#pragma once

/// What is asked of depths in metres before integers are made of them. Value type.

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace interlacer {

/// The largest integer that is a depth; 65535 is no measurement.
inline constexpr double kMostDepthUnits = 65534;
inline constexpr double kTenthMillimeterM = 0.0001, kMillimeterM = 0.001;

struct MetreDepths {
  float largest_m = 0;
  std::int64_t measured_count = 0;  ///< finite and above 0
  std::int64_t beyond_count = 0;    ///< of them deeper than integers of a millimetre reach

  void Add(float depth_m) {
    if (!std::isfinite(depth_m) || !(depth_m > 0)) return;
    largest_m = std::max(largest_m, depth_m);
    ++measured_count;
    beyond_count += depth_m > (kMostDepthUnits + 0.5) * kMillimeterM ? 1 : 0;
  }
  void Add(const MetreDepths& other) {
    largest_m = std::max(largest_m, other.largest_m);
    measured_count += other.measured_count;
    beyond_count += other.beyond_count;
  }
};

}  // namespace interlacer
