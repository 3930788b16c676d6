#include "evaluation/score_text.h"

#include <algorithm>
#include <cstdio>

#include "evaluation/view_scores.h"

namespace interlacer {

std::string SubjectLabel(std::string_view subject) {
  if (subject == kModel) return "model";
  if (subject == kCopyLast) return "copy last frame";
  if (subject == kReconstruction) return "step 0 for ever";
  if (subject == kSplat) return "splat of the particles";
  return std::string(subject);
}

std::string MetricUnit(std::string_view metric) {
  if (metric == kPsnr) return "dB";
  const auto& geometry = kGeometryMetrics;
  return std::find(geometry.begin(), geometry.end(), metric) != geometry.end() ? "m" : "SSIM";
}

int MetricDecimals(std::string_view metric) { return metric == kPsnr ? 2 : 4; }

std::string MetricLabel(std::string_view metric) {
  if (metric == kSsim) return "SSIM";
  if (metric == kSsimMoving) return "SSIM where something moves";
  if (metric == kSsimWorkspace) return "SSIM inside the workspace";
  if (metric == kPsnr) return "PSNR";
  if (metric == kDepthAbs) return "Depth error";
  if (metric == kChamferHalf) return "Chamfer distance";
  if (metric == kTracked) return "Tracked particles, distance to the truth";
  if (metric == kTrackedMoving) return "Tracked particles that move, distance to the truth";
  return std::string(metric);
}

std::string ScoreText(const std::optional<double>& value, int decimals) {
  if (!value) return "\xE2\x80\x93";
  char text[32];
  std::snprintf(text, sizeof text, "%.*f", decimals, *value);
  return text;
}

std::string SignedText(double value, int decimals) {
  return (value > 0 ? "+" : "") + ScoreText(value, decimals);
}

std::string IntervalText(const MeanEstimate& e, int decimals) {
  if (!e.interval) return "n = " + std::to_string(e.n);
  return "[" + ScoreText(e.interval->low, decimals) + ", " + ScoreText(e.interval->high, decimals) +
         "]";
}

std::string GapText(const PairedDifference& gap, int decimals) {
  return SignedText(gap.difference.mean, decimals) + " " + IntervalText(gap.difference, decimals);
}

std::string MeanText(const std::optional<MeanEstimate>& estimate, int decimals) {
  if (!estimate) return ScoreText({}, decimals);
  return ScoreText(estimate->mean, decimals) + " " + IntervalText(*estimate, decimals);
}

}  // namespace interlacer
