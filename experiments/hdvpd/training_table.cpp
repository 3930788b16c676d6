#include "experiments/hdvpd/training_table.h"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "evaluation/html.h"
#include "evaluation/score_text.h"
#include "evaluation/statistics.h"
#include "experiments/hdvpd/cells.h"

namespace interlacer {
namespace {

constexpr int kLossDecimals = 5;

std::vector<const TrainedRun*> RunsOf(const Study& study, std::string_view variant) {
  std::vector<const TrainedRun*> runs;
  for (const TrainedRun& run : study.runs()) {
    if (run.variant == variant && !run.has_diverged) runs.push_back(&run);
  }
  return runs;
}

std::string Digits(double value, const char* format) {
  char text[40];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string MedianText(const std::vector<double>& values) {
  const auto median = Percentile(values, 0.5);
  return median ? Digits(*median, "%.0f") : "–";
}

/// Seconds of the stages before the last one, by the median CPU time of an update of each.
double EarlierSeconds(const StudyPlan& plan, const std::string& cells_dir, const TrainedRun& run,
                      double* updates) {
  double seconds = 0;
  for (std::size_t stage = 0; stage + 1 < plan.stages.size(); ++stage) {
    const CellState cell = ReadCell(cells_dir + "/" + plan.stages[stage].name + "/" + run.name());
    seconds += static_cast<double>(cell.steps) * cell.step_s;
    *updates += static_cast<double>(cell.steps);
  }
  return seconds;
}

}  // namespace

std::optional<std::int64_t> StepToReach(std::span<const LoggedLoss> validations, double target) {
  const auto reached = std::find_if(validations.begin(), validations.end(),
                                    [&](const LoggedLoss& loss) { return loss.loss <= target; });
  if (reached == validations.end()) return std::nullopt;
  return reached->step;
}

std::optional<double> EqualQuality(const Study& study) {
  std::optional<double> worst;
  for (const std::string& variant : study.variants()) {
    std::vector<double> losses;
    for (const TrainedRun* run : RunsOf(study, variant)) {
      if (!run->validations.empty()) losses.push_back(run->validations.back().loss);
    }
    const auto median = Percentile(std::move(losses), 0.5);
    if (median) worst = std::max(worst.value_or(*median), *median);
  }
  return worst;
}

std::string SearchHtml(const StudyPlan& plan, const std::string& cells_dir) {
  HtmlTable table;
  table.caption = "Validation loss after " + std::to_string(plan.search_step_count) +
                  " updates, seed " + std::to_string(plan.search_seed);
  table.is_numeric = false;
  table.header = {"variant", "model", "learning rate", "loss", ""};
  for (const PlannedVariant& variant : plan.variants) {
    const auto losses = TrialLosses(plan, variant, cells_dir);
    const auto best = ChooseTrial(losses);
    for (std::size_t i = 0; i < losses.size(); ++i) {
      const Choice trial = ChoiceOf(plan, i);
      table.rows.push_back({VariantLabel(variant.name), variant.models[trial.model].dump(),
                            Digits(trial.learning_rate, "%g"), ScoreText(losses[i], kLossDecimals),
                            best == i ? "chosen" : ""});
    }
  }
  return SectionHtml("What the search chose", TableHtml(table));
}

std::string TrainingCostHtml(const StudyPlan& plan, const std::string& cells_dir,
                             const Study& study) {
  const std::optional<double> target = EqualQuality(study);
  if (!target) return "";
  HtmlTable table;
  table.caption = "Medians over the runs; equal quality is a validation loss of " +
                  ScoreText(target, kLossDecimals) + " in the last stage";
  table.header = {"variant",   "runs",    "flat in every stage",
                  "updates",   "seconds", "seconds to equal quality",
                  "reached it"};
  for (const std::string& variant : study.variants()) {
    std::vector<double> updates, seconds, to_target;
    int flat = 0;
    const auto runs = RunsOf(study, variant);
    for (const TrainedRun* run : runs) {
      double count = static_cast<double>(run->steps_done);
      const double before = EarlierSeconds(plan, cells_dir, *run, &count);
      const double step_s = run->steps_per_s > 0 ? 1 / run->steps_per_s : 0;
      updates.push_back(count);
      seconds.push_back(before + static_cast<double>(run->steps_done) * step_s);
      const auto step = StepToReach(run->validations, *target);
      if (step) to_target.push_back(before + static_cast<double>(*step) * step_s);
      flat += run->is_flat;
    }
    table.rows.push_back({VariantLabel(variant), std::to_string(runs.size()), std::to_string(flat),
                          MedianText(updates), MedianText(seconds), MedianText(to_target),
                          std::to_string(to_target.size())});
  }
  return SectionHtml(
      "Training time at equal quality",
      TableHtml(table) +
          ParagraphHtml("Seconds by the median CPU time of an update of each stage, so "
                        "that other work on the machine touches them little. Appearance and search "
                        "take no part. The target is the worst of the variants' medians of the "
                        "final validation losses."));
}

}  // namespace interlacer
