#pragma once

/// The output of the planner experiment: a page, tables and JSON. Pure functions, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "evaluation/statistics.h"
#include "experiments/planner/ranking.h"

namespace interlacer {

struct SkippedScene {
  std::string scene;
  std::string reason;
};

struct PlannerStudy {
  std::string dataset;
  std::string split;
  std::string model;  ///< name and digest of the weights
  int horizon = 0;
  double step_duration_s = 0;
  std::vector<SceneRanking> scenes;
  std::vector<SkippedScene> skipped;
  std::string command;
  std::string created_time;
};

/// Over scenes, with intervals by bootstrap; scenes without a correlation take no part.
struct PlannerSummary {
  std::optional<MeanEstimate> travel_correlation;
  std::optional<MeanEstimate> goal_correlation, tool_goal_correlation;
  std::optional<MeanEstimate> chosen_m, tool_chosen_m, best_m, guessed_m, error_m;
};
PlannerSummary Summarize(const std::vector<SceneRanking>& scenes);

std::string PlannerText(const PlannerStudy& study);
std::string PlannerPageHtml(const PlannerStudy& study);
nlohmann::ordered_json PlannerToJson(const PlannerStudy& study);

}  // namespace interlacer
