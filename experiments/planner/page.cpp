#include "experiments/planner/page.h"

#include <functional>

#include "common/json.h"
#include "evaluation/html.h"
#include "evaluation/results.h"
#include "evaluation/score_text.h"
#include "evaluation/svg.h"
#include "experiments/score_table.h"

namespace interlacer {
namespace {

constexpr int kRankDecimals = 2;
constexpr int kMeterDecimals = 3;

using Measure = std::function<std::optional<double>(const SceneRanking&)>;

std::optional<MeanEstimate> MeanOver(const std::vector<SceneRanking>& scenes,
                                     const Measure& measure) {
  std::vector<double> values;
  for (const SceneRanking& scene : scenes) {
    if (const auto value = measure(scene)) values.push_back(*value);
  }
  return EstimateMean(values, kStudyBootstrap);
}

std::string CountText(const PlannerStudy& study) {
  return "scenes ranked: " + std::to_string(study.scenes.size()) +
         ", skipped: " + std::to_string(study.skipped.size());
}

/// Label and text of each figure of the summary.
std::vector<std::pair<std::string, std::string>> Lines(const PlannerSummary& summary) {
  return {
      {"rank correlation, how far the object goes",
       MeanText(summary.travel_correlation, kRankDecimals)},
      {"rank correlation, end distance to a goal",
       MeanText(summary.goal_correlation, kRankDecimals)},
      {"the same by where the robot's tool ends, without a model",
       MeanText(summary.tool_goal_correlation, kRankDecimals)},
      {"end distance of the chosen motion, m", MeanText(summary.chosen_m, kMeterDecimals)},
      {"of the motion chosen by the tool, m", MeanText(summary.tool_chosen_m, kMeterDecimals)},
      {"of the best candidate, m", MeanText(summary.best_m, kMeterDecimals)},
      {"of a guess, as by the robot's motion alone, m",
       MeanText(summary.guessed_m, kMeterDecimals)},
      {"error of the predicted displacement, m", MeanText(summary.error_m, kMeterDecimals)},
  };
}

nlohmann::ordered_json ToJson(const std::optional<MeanEstimate>& estimate) {
  return estimate ? ToJson(*estimate) : nlohmann::ordered_json();
}

nlohmann::ordered_json ToJson(const std::optional<double>& value) {
  return value ? nlohmann::ordered_json(*value) : nlohmann::ordered_json(nullptr);
}

}  // namespace

PlannerSummary Summarize(const std::vector<SceneRanking>& scenes) {
  using Ranking = const SceneRanking&;
  return {
      MeanOver(scenes, [](Ranking s) { return s.travel_correlation; }),
      MeanOver(scenes, [](Ranking s) { return s.goal_correlation; }),
      MeanOver(scenes, [](Ranking s) { return s.tool_goal_correlation; }),
      MeanOver(scenes, [](Ranking s) { return std::optional(s.chosen_m); }),
      MeanOver(scenes, [](Ranking s) { return s.tool_chosen_m; }),
      MeanOver(scenes, [](Ranking s) { return std::optional(s.best_m); }),
      MeanOver(scenes, [](Ranking s) { return std::optional(s.guessed_m); }),
      MeanOver(scenes, [](Ranking s) { return std::optional(s.mean_error_m); }),
  };
}

std::string PlannerText(const PlannerStudy& study) {
  std::string text = CountText(study) + "\n";
  for (const auto& [label, value] : Lines(Summarize(study.scenes))) {
    text += label + ": " + value + "\n";
  }
  return text;
}

std::string PlannerPageHtml(const PlannerStudy& study) {
  const PlannerSummary summary = Summarize(study.scenes);
  DistributionSpec chart;
  chart.title = "Rank correlation of each scene";
  chart.value_label = "Spearman's coefficient";
  chart.alt_text = "Rank correlations of predicted with simulated outcomes, one dot a scene";
  chart.groups = {
      {"how far it goes", {}}, {"distance to a goal", {}}, {"the same by the tool", {}}};
  chart.reference_value = 0;
  HtmlTable table;
  table.caption = "One row a scene; distances in metres";
  table.header = {"scene",  "motions",        "travel ranks", "goal ranks", "by tool",
                  "chosen", "chosen by tool", "best",         "guess",      "error"};
  for (const SceneRanking& s : study.scenes) {
    if (s.travel_correlation) chart.groups[0].values.push_back(*s.travel_correlation);
    if (s.goal_correlation) chart.groups[1].values.push_back(*s.goal_correlation);
    if (s.tool_goal_correlation) chart.groups[2].values.push_back(*s.tool_goal_correlation);
    table.rows.push_back(
        {s.scene, std::to_string(s.motions.size()), ScoreText(s.travel_correlation, kRankDecimals),
         ScoreText(s.goal_correlation, kRankDecimals),
         ScoreText(s.tool_goal_correlation, kRankDecimals), ScoreText(s.chosen_m, kMeterDecimals),
         ScoreText(s.tool_chosen_m, kMeterDecimals), ScoreText(s.best_m, kMeterDecimals),
         ScoreText(s.guessed_m, kMeterDecimals), ScoreText(s.mean_error_m, kMeterDecimals)});
  }
  HtmlTable skipped;
  skipped.header = {"skipped scene", "reason"};
  for (const SkippedScene& s : study.skipped) skipped.rows.push_back({s.scene, s.reason});
  HtmlTable figures;
  figures.header = {"mean over scenes", "value and 95 % interval"};
  for (const auto& [label, value] : Lines(summary)) figures.rows.push_back({label, value});
  const std::string how =
      "Every candidate motion of a scene starts from the same observation. The model predicts "
      "where the particles of the object are after " +
      std::to_string(study.horizon) + " steps of " + ScoreText(study.step_duration_s, 1) +
      " s; the simulator says where they truly are. Goals lie " + ScoreText(kGoalDistanceM, 2) +
      " m from the object's first place, " + std::to_string(kGoalCount) + " around it.";
  const std::string body =
      SectionHtml("Do predictions rank motions as the simulation does?",
                  ParagraphHtml(how) + TableHtml(figures) + DistributionSvg(chart)) +
      SectionHtml("Scenes", ParagraphHtml(CountText(study) + ".") + TableHtml(table) +
                                (skipped.rows.empty() ? "" : TableHtml(skipped))) +
      SectionHtml("How it was made",
                  ParagraphHtml("Model " + study.model + ", data " + study.dataset + ", split " +
                                study.split + ", " + study.created_time + ".") +
                      ParagraphHtml(study.command));
  return PageHtml("Ranking of motions by prediction",
                  "Rank correlation with the simulated end distance to a goal: " +
                      MeanText(summary.goal_correlation, kRankDecimals),
                  body);
}

nlohmann::ordered_json PlannerToJson(const PlannerStudy& study) {
  const PlannerSummary summary = Summarize(study.scenes);
  nlohmann::ordered_json json = {
      {"schema", "interlacer.planner"},
      {"schema_version", 1},
      {"dataset", study.dataset},
      {"split", study.split},
      {"model", study.model},
      {"horizon", study.horizon},
      {"command", study.command},
      {"created_time", study.created_time},
      {"summary",
       {{"travel_correlation", ToJson(summary.travel_correlation)},
        {"goal_correlation", ToJson(summary.goal_correlation)},
        {"tool_goal_correlation", ToJson(summary.tool_goal_correlation)},
        {"chosen_m", ToJson(summary.chosen_m)},
        {"tool_chosen_m", ToJson(summary.tool_chosen_m)},
        {"best_m", ToJson(summary.best_m)},
        {"guessed_m", ToJson(summary.guessed_m)},
        {"error_m", ToJson(summary.error_m)}}},
      {"scenes", nlohmann::ordered_json::array()},
      {"skipped", nlohmann::ordered_json::array()},
  };
  for (const SceneRanking& s : study.scenes) {
    nlohmann::ordered_json scene = {{"scene", s.scene},
                                    {"travel_correlation", ToJson(s.travel_correlation)},
                                    {"goal_correlation", ToJson(s.goal_correlation)},
                                    {"tool_goal_correlation", ToJson(s.tool_goal_correlation)},
                                    {"chosen_m", s.chosen_m},
                                    {"tool_chosen_m", ToJson(s.tool_chosen_m)},
                                    {"best_m", s.best_m},
                                    {"guessed_m", s.guessed_m},
                                    {"error_m", s.mean_error_m}};
    for (const MotionOutcome& m : s.motions) {
      scene["motions"].push_back(
          {{"episode", m.episode}, {"predicted_m", m.predicted_m}, {"true_m", m.true_m}});
    }
    json["scenes"].push_back(std::move(scene));
  }
  for (const SkippedScene& s : study.skipped) {
    json["skipped"].push_back({{"scene", s.scene}, {"reason", s.reason}});
  }
  return json;
}

}  // namespace interlacer
