#pragma once

/// The sections of a comparison that are tables: tasks, ablations, runs, all numbers. Each is empty
/// where nothing was scored. Pure apart from the study's cache of estimates.

#include <string>

#include "evaluation/html.h"
#include "experiments/hdvpd/study.h"

namespace interlacer {

inline constexpr int kStudyDecimals = 4;

std::string TasksHtml(const Study& study);
std::string AblationsHtml(const Study& study);
/// Every run with what it cost and the means that the claims rest on.
HtmlTable RunsTable(const Study& study);
std::string TrainingHtml(const Study& study);
std::string ScoreTablesHtml(const Study& study);

}  // namespace interlacer
