#pragma once

/// Names of subjects and metrics, and numbers as people read them. Pure functions, thread-safe.

#include <optional>
#include <string>
#include <string_view>

#include "evaluation/statistics.h"

namespace interlacer {

/// Behind "95 % intervals" of fewer than kFewestToDecide episodes.
inline constexpr char kFewEpisodesText[] =
    "; of so few episodes their bounds are about the extreme ones";

/// "copy_last" as people read it.
std::string SubjectLabel(std::string_view subject);
std::string MetricLabel(std::string_view metric);
/// "SSIM", "dB" or "m", and the decimals that mean something.
std::string MetricUnit(std::string_view metric);
int MetricDecimals(std::string_view metric);
/// The label with its unit, above numbers that no axis explains: "Depth error, m", "SSIM".
std::string MetricHeading(std::string_view metric);
/// Fixed decimals, "–" for nothing.
std::string ScoreText(const std::optional<double>& value, int decimals);
/// With its sign.
std::string SignedText(double value, int decimals);
/// "[low, high]".
std::string IntervalText(const Interval& interval, int decimals);
/// The same, or "n = 1" where there is no interval.
std::string IntervalText(const MeanEstimate& estimate, int decimals);
/// "+0.0030 [0.0005, 0.0054]".
std::string GapText(const PairedDifference& gap, int decimals);
/// "0.31 [0.12, 0.55]", "–" for nothing.
std::string RatioText(const std::optional<RatioEstimate>& estimate);
/// The mean and its interval, "–" for nothing.
std::string MeanText(const std::optional<MeanEstimate>& estimate, int decimals);

}  // namespace interlacer
