#pragma once

/// The HTML report of one prediction: frame strips beside the truth, scores by step, how it was
/// made.
/// Pure function. The page follows evaluation/html.h.

#include <string>
#include <vector>

#include "common/model_metadata.h"
#include "data/episode.h"
#include "evaluation/episode_evaluation.h"
#include "evaluation/scene_view.h"

namespace interlacer {

struct RolloutReportInput {
  const EpisodeManifest* manifest = nullptr;
  const PredictionTask* task = nullptr;
  const EpisodeEvaluation* evaluation = nullptr;
  const ModelMetadata* metadata = nullptr;
  const SceneView* scene = nullptr;  ///< null: no 3-D view
  std::string device;
  std::string location;
  std::string command;
  std::string created_time;
  std::string tool_version;
};

std::string RolloutReportHtml(const RolloutReportInput& input);

/// As MetricsOf of results.h.
std::vector<std::string> MetricsOf(const EpisodeEvaluation& evaluation);
/// Mean over the views of a step that have the score; nothing if none has.
std::optional<double> MeanScore(const EpisodeEvaluation& evaluation, std::string_view subject,
                                std::string_view metric, int step);
std::optional<double> ScoreOf(const EvaluatedView& view, std::string_view subject,
                              std::string_view metric);

}  // namespace interlacer
