#pragma once

/// Claims of the papers about masks, and what our numbers say of them.
///
/// A rule is stated in words beside every verdict and is fixed before anything is measured; a
/// number that is missing or not finite decides nothing. Pure functions, thread-safe.

#include <optional>
#include <span>
#include <string>

#include "evaluation/statistics.h"
#include "experiments/verdict.h"

namespace interlacer {

struct MaskClaim {
  std::string text = {};
  std::string source = {};  ///< key of docs/papers.md and place
  std::string paper = {};   ///< the paper's value
  std::string ours = {};
  std::optional<double> value = {};  ///< ours, where it is one number
  std::string rule = {};
  Verdict verdict = Verdict::kUndecided;
};

/// Three significant digits; "–" for nothing.
std::string FigureText(const std::optional<double>& value);

Verdict JudgeRange(const std::optional<double>& value, double low, double high);
Verdict JudgeAtMost(const std::optional<double>& value, double high);
Verdict JudgeAbove(const std::optional<double>& value, double low);
/// That the first mean is smaller: by intervals that do not overlap.
Verdict JudgeSmaller(const std::optional<MeanEstimate>& a, const std::optional<MeanEstimate>& b);

/// Text, source and paper of `claim` with the value, the rule in words and the verdict. The value
/// has as many digits as tell it from the bounds.
MaskClaim WithinRange(MaskClaim claim, std::optional<double> value, double low, double high);
MaskClaim AtMost(MaskClaim claim, std::optional<double> value, double high);
MaskClaim Above(MaskClaim claim, std::optional<double> value, double low);

/// Slope of log y over log x by least squares; absent below three points or for what has no
/// logarithm.
std::optional<double> LogSlope(std::span<const double> x, std::span<const double> y);
/// Where log a - log b, linear between points of log x, first is 0 after it was below or above;
/// absent where the two do not cross.
std::optional<double> Crossing(std::span<const double> x, std::span<const double> a,
                               std::span<const double> b);

}  // namespace interlacer
