#pragma once

/// Whether a model's spread says how wrong its particles are.
///
///   l2_m@spread:LOW-HIGH  mean distance, metres, of particles to their true places, over those
///                         whose predicted spread lies in [LOW,HIGH) metres at that step
/// A spread that is worth its price rises with the error; one that is calibrated is as large.
/// Particles of arms are left out, since they move by measured joints. Pure functions, thread-safe.

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/view_scores.h"

namespace interlacer {

/// Edges of the bins in metres; the last bin has no upper edge.
inline constexpr double kSpreadEdgesM[] = {0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05};

inline constexpr std::string_view kSpreadMetricPrefix = "l2_m@spread:";
/// Of a bin, such as "l2_m@spread:0.001-0.002" and "l2_m@spread:0.050-".
std::string SpreadMetric(std::size_t bin);

/// One score a bin. `errors_m` [n] are NaN for particles that do not count; `spreads_m` [n].
std::vector<ViewScore> ScoreSpread(std::string_view subject, std::span<const float> spreads_m,
                                   std::span<const double> errors_m);

}  // namespace interlacer
