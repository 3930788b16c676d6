#include "evaluation/spread_scores.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>

#include "evaluation/tracked_particles.h"

namespace interlacer {

std::string SpreadMetric(std::size_t bin) {
  char text[64];
  if (bin + 1 < std::size(kSpreadEdgesM)) {
    std::snprintf(text, sizeof text, "%.3f-%.3f", kSpreadEdgesM[bin], kSpreadEdgesM[bin + 1]);
  } else {
    std::snprintf(text, sizeof text, "%.3f-", kSpreadEdgesM[bin]);
  }
  return std::string(kSpreadMetricPrefix) + text;
}

std::vector<ViewScore> ScoreSpread(std::string_view subject, std::span<const float> spreads_m,
                                   std::span<const double> errors_m) {
  std::vector<MeanDistance> bins(std::size(kSpreadEdgesM));
  for (std::size_t i = 0; i < errors_m.size(); ++i) {
    if (std::isnan(errors_m[i])) continue;
    const double* above = std::upper_bound(std::begin(kSpreadEdgesM), std::end(kSpreadEdgesM),
                                           static_cast<double>(spreads_m[i]));
    bins[static_cast<std::size_t>(above - std::begin(kSpreadEdgesM)) - 1].Add(errors_m[i]);
  }
  std::vector<ViewScore> scores;
  for (std::size_t bin = 0; bin < bins.size(); ++bin) {
    scores.push_back(bins[bin].Score(subject, SpreadMetric(bin)));
  }
  return scores;
}

}  // namespace interlacer
