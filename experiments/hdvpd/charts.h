#pragma once

/// The charts of a comparison: scores by rollout step, paired differences, published curves,
/// losses. Step 0 is the first predicted frame. Each is empty where nothing was scored. Pure apart
/// from the study's cache of estimates.

#include <span>
#include <string>
#include <string_view>

#include "experiments/hdvpd/study.h"

namespace interlacer {

std::string MetricChart(const Study& study, std::string_view metric, EpisodeGroup group);
/// One chart for each metric, in a row.
std::string MetricCharts(const Study& study, std::span<const std::string_view> metrics,
                         EpisodeGroup group);
/// Paired differences of the first variant to the others, the published ones beside them.
std::string GapChart(const Study& study, std::string_view metric);
std::string PublishedChart();
/// Validation loss of every run, a chart a stage.
std::string LossCharts(const Study& study);

}  // namespace interlacer
