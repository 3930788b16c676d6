#include "evaluation/score_text.h"

#include <cstdio>

#include "evaluation/spread_scores.h"
#include "evaluation/view_scores.h"

namespace interlacer {
namespace {

bool IsPsnr(std::string_view metric) { return metric.starts_with(kPsnr); }

}  // namespace

std::string SubjectLabel(std::string_view subject) {
  if (subject == kModelSubject) return "model";
  if (subject == kModelField) return "model, field";
  if (subject == kKinematicSubject) return "kinematic";
  if (subject == kKinematicField) return "kinematic, field in holes";
  if (subject == kContact) return "what is touched follows";
  if (subject == kCopyLast) return "copy last frame";
  if (subject == kReconstruction) return "step 0 for ever";
  if (subject == kSplat) return "splat of the particles";
  if (subject == kOracleMotion) return "true motion";
  if (subject == kOracleRender) return "true frames rendered";
  return std::string(subject);
}

std::string MetricUnit(std::string_view metric) {
  if (IsPsnr(metric)) return "dB";
  return metric.starts_with(kSsim) ? "SSIM" : "m";
}

std::string MetricHeading(std::string_view metric) {
  const std::string unit = MetricUnit(metric);
  return unit == "SSIM" ? MetricLabel(metric) : MetricLabel(metric) + ", " + unit;
}

int MetricDecimals(std::string_view metric) { return IsPsnr(metric) ? 2 : 4; }

std::string MetricLabel(std::string_view metric) {
  if (metric == kSsim) return "SSIM";
  if (metric == kSsimMoving) return "SSIM where something moves";
  if (metric == kSsimWorkspace) return "SSIM inside the workspace";
  if (metric == kSsimObjects) return "SSIM on objects";
  if (metric == kPsnr) return "PSNR";
  if (metric == kPsnrMoving) return "PSNR where something moves";
  if (metric == kPsnrObjects) return "PSNR on objects";
  if (metric == kPsnrWorkspace) return "PSNR inside the workspace";
  if (metric == kSsimCarried) return "SSIM on carried pixels";
  if (metric == kPsnrCarried) return "PSNR on carried pixels";
  if (metric == kDepthAbs) return "Depth error";
  if (metric == kChamferHalf) return "Chamfer distance";
  if (metric == kL2Moved) return "Objects that move, distance to the truth";
  if (metric == kL2MovedBefore) return "Objects that move, before contact";
  if (metric == kL2MovedTouched) return "Objects that move, in contact";
  if (metric == kL2MovedAfter) return "Objects that move, after contact";
  if (metric == kL2Static) return "What stands still, distance to the truth";
  if (metric == kL2StillObjects) return "Objects that stand still, distance to the truth";
  if (metric == kL2Robot) return "Robot, distance to the truth";
  if (metric.starts_with(kObjectMetricPrefix)) {
    return "Object " + std::string(metric.substr(kObjectMetricPrefix.size())) +
           ", distance to the truth";
  }
  if (metric.starts_with(kSpreadMetricPrefix)) {
    return "Distance to the truth at a spread of " +
           std::string(metric.substr(kSpreadMetricPrefix.size())) + " m";
  }
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

std::string IntervalText(const Interval& interval, int decimals) {
  return "[" + ScoreText(interval.low, decimals) + ", " + ScoreText(interval.high, decimals) + "]";
}

std::string IntervalText(const MeanEstimate& e, int decimals) {
  return e.interval ? IntervalText(*e.interval, decimals) : "n = " + std::to_string(e.n);
}

std::string RatioText(const std::optional<RatioEstimate>& estimate) {
  constexpr int kDecimals = 2;
  if (!estimate) return ScoreText({}, kDecimals);
  return ScoreText(estimate->ratio, kDecimals) + " " +
         (estimate->interval ? IntervalText(*estimate->interval, kDecimals)
                             : "n = " + std::to_string(estimate->n));
}

std::string GapText(const PairedDifference& gap, int decimals) {
  return SignedText(gap.difference.mean, decimals) + " " + IntervalText(gap.difference, decimals);
}

std::string MeanText(const std::optional<MeanEstimate>& estimate, int decimals) {
  if (!estimate) return ScoreText({}, decimals);
  return ScoreText(estimate->mean, decimals) + " " + IntervalText(*estimate, decimals);
}

}  // namespace interlacer
