#include "cli/printed_scores.h"

#include <optional>
#include <string_view>

#include "cli/describe.h"
#include "evaluation/score_text.h"
#include "evaluation/view_scores.h"

namespace interlacer::cli {
namespace {

/// `is_input` chooses the cameras that the model saw or did not see.
std::string ScoreLines(const Results& results, std::optional<bool> is_input) {
  const auto mean = [&](std::string_view subject, std::string_view metric, int step, int decimals) {
    const auto estimate = Aggregate(results, {subject, metric, step, "", is_input});
    return ScoreText(estimate ? std::optional<double>(estimate->mean) : std::nullopt, decimals);
  };
  std::string text = "step  SSIM    splat   copy    moving  copy    PSNR   splat\n";
  for (const int step : StepsOf(results)) {
    text += Format(
        "%4d  %-6s  %-6s  %-6s  %-6s  %-6s  %-5s  %s\n", step, mean(kModel, kSsim, step, 4).c_str(),
        mean(kSplat, kSsim, step, 4).c_str(), mean(kCopyLast, kSsim, step, 4).c_str(),
        mean(kModel, kSsimMoving, step, 4).c_str(), mean(kCopyLast, kSsimMoving, step, 4).c_str(),
        mean(kModel, kPsnr, step, 2).c_str(), mean(kSplat, kPsnr, step, 2).c_str());
  }
  return text;
}

}  // namespace

std::string ScoreTable(const Results& results) {
  std::string text =
      Format("episodes: %zu, failures: %zu\n", results.episodes.size(), results.failures.size());
  text += ScoreLines(results, {});
  if (Aggregate(results, {kModel, kSsim, -1, "", false})) {
    text += "held-out cameras only:\n" + ScoreLines(results, false);
  }
  return text;
}

}  // namespace interlacer::cli
