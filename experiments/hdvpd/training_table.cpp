#include "experiments/hdvpd/training_table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
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
  if (!median) return "–";
  return std::isfinite(*median) ? Digits(*median, "%.0f") : "not reached";
}

/// The runs of a variant have one network: how far their updates differ is how far other work on
/// the machine touched them.
std::string RangeText(const std::vector<double>& values) {
  if (values.empty()) return "–";
  const auto [least, most] = std::minmax_element(values.begin(), values.end());
  return Digits(*least, "%.2f") + " to " + Digits(*most, "%.2f");
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

std::string TrainingCostHtml(const Study& study) {
  const std::optional<double> target = EqualQuality(study);
  if (!target) return "";
  HtmlTable table;
  table.caption = "Medians over the runs; equal quality is a validation loss of " +
                  ScoreText(target, kLossDecimals) + " in the last stage";
  table.header = {"variant", "runs",         "flat in every stage",      "updates",
                  "seconds", "of an update", "seconds to equal quality", "reached it"};
  for (const std::string& variant : study.variants()) {
    std::vector<double> updates, seconds, of_update, to_target;
    int flat = 0, reached = 0;
    const auto runs = RunsOf(study, variant);
    for (const TrainedRun* run : runs) {
      const double before = run->EarlierCpuSeconds();
      updates.push_back(static_cast<double>(run->UpdateCount()));
      seconds.push_back(before + static_cast<double>(run->steps_done) * run->step_s);
      of_update.push_back(run->step_s);
      const auto step = StepToReach(run->validations, *target);
      to_target.push_back(step ? before + static_cast<double>(*step) * run->step_s
                               : std::numeric_limits<double>::infinity());
      reached += step.has_value();
      flat += run->is_flat;
    }
    table.rows.push_back({VariantLabel(variant), std::to_string(runs.size()), std::to_string(flat),
                          MedianText(updates), MedianText(seconds), RangeText(of_update),
                          MedianText(to_target), std::to_string(reached)});
  }
  return SectionHtml(
      "Training time at equal quality",
      TableHtml(table) +
          ParagraphHtml("Seconds by the median CPU time of an update of each stage. Other work on "
                        "the machine touches that too: \"of an update\" is its range over the runs "
                        "of a variant in the last stage, which have one network. Appearance and "
                        "search take no part. The target is the worst of the variants' medians of "
                        "the final validation losses."));
}

}  // namespace interlacer
