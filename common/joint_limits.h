#pragma once

/// The one rule for joint values past their limits: encoders and calibration leave measured values
/// a little outside, so 2 % of the range is tolerated on either side. Pure functions, thread-safe.

namespace interlacer {

/// Share of the range max - min.
inline constexpr double kJointLimitTolerance = 0.02;

/// False for values that are not finite.
inline bool IsWithinJointLimits(double value, double min, double max) {
  const double slack = kJointLimitTolerance * (max - min);
  return value >= min - slack && value <= max + slack;
}

}  // namespace interlacer
