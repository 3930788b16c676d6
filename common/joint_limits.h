#pragma once

/// The one rule for joint values past their limits: encoders and calibration leave measured values
/// a little outside, and a force opens a finger of 4 cm by most of a millimetre, so 2 % of the
/// range is tolerated on either side, and at least a millimetre or milliradian. Pure functions,
/// thread-safe.

#include <algorithm>

namespace interlacer {

/// Share of the range max - min.
inline constexpr double kJointLimitTolerance = 0.02;
/// Metres or radians.
inline constexpr double kLeastJointSlack = 0.001;
/// Goes on with the range that an error names.
inline constexpr char kJointSlackText[] = ", and beyond that 2 % of it or 0.001 if that is more";

/// False for values that are not finite.
inline bool IsWithinJointLimits(double value, double min, double max) {
  const double slack = std::max(kJointLimitTolerance * (max - min), kLeastJointSlack);
  return value >= min - slack && value <= max + slack;
}

}  // namespace interlacer
