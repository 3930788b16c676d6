#pragma once

/// The sections of a report that are charts: scores and geometry by step, paired differences,
/// distributions over episodes. Each is empty where nothing was scored. Pure functions,
/// thread-safe.

#include <string>
#include <vector>

#include "evaluation/report_html.h"

namespace interlacer {

/// All steps of the rollouts, or of longer ones those that tables and strips show.
std::vector<int> ChosenSteps(const ReportInput& in);

std::string ScoreChartsHtml(const ReportInput& in);
std::string GeometryHtml(const ReportInput& in);
/// Empty for one variant.
std::string DifferencesHtml(const ReportInput& in);
std::string DistributionsHtml(const ReportInput& in);

}  // namespace interlacer
