#include "cli/printed_scores.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "cli/describe.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer::cli {
namespace {

constexpr std::array kPrintedSteps{0, 1, 4, 8, 24};
constexpr std::array kPrintedMetrics{
    kL2Moved,  kL2Static, kL2StillObjects, kL2MovedBefore, kL2MovedTouched, kL2MovedAfter, kL2Robot,
    kDepthAbs, kSsim,     kSsimMoving,     kSsimObjects,   kSsimWorkspace,  kPsnr};
constexpr double kCentimeters = 100;

/// The printed steps that there are, and the last one.
std::vector<int> StepsToPrint(const Results& results) {
  const std::vector<int> all = StepsOf(results);
  std::vector<int> steps;
  for (const int step : all) {
    const bool is_printed =
        std::find(kPrintedSteps.begin(), kPrintedSteps.end(), step) != kPrintedSteps.end();
    if (is_printed || step == all.back()) steps.push_back(step);
  }
  return steps;
}

/// Mean over episodes; the interval is for files.
std::optional<double> MeanOf(const Results& results, const ValueFilter& filter) {
  double sum = 0;
  const auto means = EpisodeMeans(results, filter);
  for (const auto& [episode, mean] : means) sum += mean;
  if (means.empty()) return std::nullopt;
  return sum / static_cast<double>(means.size());
}

/// Empty where no subject has the metric. `is_input` chooses the cameras that the model saw or did
/// not see.
std::string MetricTable(const Results& results, std::string_view metric,
                        std::optional<bool> is_input) {
  const bool is_length = MetricUnit(metric) == "m";
  const std::vector<int> steps = StepsToPrint(results);
  std::string lines;
  std::vector<std::string> subjects = BaselinesOf(results);
  subjects.insert(subjects.begin(), std::string(kModelSubject));
  for (const std::string& subject : subjects) {
    std::string line = Format("  %-28s", SubjectLabel(subject).c_str());
    bool has_value = false;
    for (const int step : steps) {
      std::optional<double> mean = MeanOf(results, {subject, metric, step, "", is_input});
      has_value = has_value || mean;
      if (mean && is_length) *mean *= kCentimeters;
      // A dash of several bytes would shift what follows.
      const int decimals = is_length ? 2 : MetricDecimals(metric);
      line += mean ? Format("%9s", ScoreText(mean, decimals).c_str()) : "        -";
    }
    if (has_value) lines += line + "\n";
  }
  if (lines.empty()) return "";
  std::string head = MetricLabel(metric) + (is_length ? ", cm" : "");
  head = Format("%-30s", head.c_str());
  if (head.size() > 30) head += "\n" + std::string(30, ' ');
  for (const int step : steps) head += Format("%9s", ("step " + std::to_string(step)).c_str());
  return head + "\n" + lines;
}

}  // namespace

std::string ScoreTable(const Results& results) {
  std::string text =
      Format("episodes: %zu, failures: %zu\n", results.episodes.size(), results.failures.size());
  for (const std::string_view metric : kPrintedMetrics) text += MetricTable(results, metric, {});
  std::string held_out;
  for (const std::string_view metric :
       {kDepthAbs, kSsim, kSsimWorkspace, kSsimCarried, kPsnr, kPsnrCarried}) {
    held_out += MetricTable(results, metric, false);
  }
  return held_out.empty() ? text : text + "held-out cameras only:\n" + held_out;
}

}  // namespace interlacer::cli
