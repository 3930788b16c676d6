#pragma once

/// The sections of a report that are charts: scores and geometry by step, paired differences,
/// distributions over episodes. Each is empty where nothing was scored. Pure functions,
/// thread-safe.

#include <string>
#include <vector>

#include "evaluation/report_input.h"

namespace interlacer {

/// Steps that tables and strips show: all steps of short rollouts, a selection of long ones.
std::vector<int> ChosenSteps(const ReportInput& in);

std::string ScoreChartsHtml(const ReportInput& in);
std::string GeometryHtml(const ReportInput& in);
/// Paired differences to the reference; empty for one variant.
std::string DifferencesHtml(const ReportInput& in);
/// Mean error by predicted spread; empty where no spread was asked for.
std::string SpreadHtml(const ReportInput& in);
std::string DistributionsHtml(const ReportInput& in);

}  // namespace interlacer
