#pragma once

/// Checks and statistics of depth in metres; NaN is no measurement.
/// Errors: INVALID_ARGUMENT DEPTH_UNIT_MISSING. Pure functions, thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "common/image.h"
#include "common/status.h"

namespace interlacer {

/// Median depths outside this range are a wrong unit, not a scene.
inline constexpr double kMinPlausibleMedianM = 0.05;
inline constexpr double kMaxPlausibleMedianM = 20.0;
/// Smaller shares of measured or lifted pixels than these are reported.
inline constexpr double kLowValidDepthRatio = 0.3;
inline constexpr double kLowWorkspaceRatio = 0.05;

/// No unit is a default: 1 mm, 0.2 mm and 0.1 mm are all in use. Expects (0, 1].
Status ValidateDepthUnit(double unit_m, std::string_view field);

/// Share of measured pixels; 0 for an empty image.
double ValidDepthRatio(const DepthImage& depth);
/// Lower median of measured depths.
std::optional<double> MedianDepthM(const DepthImage& depth);

/// [65536] how many pixels have each integer.
std::vector<std::uint32_t> CountDepths(const DepthImage16& depth);
/// Lower median of measured integers, of such counts; none where all are 0.
std::optional<std::uint16_t> MedianDepth(std::span<const std::uint32_t> counts);

}  // namespace interlacer
