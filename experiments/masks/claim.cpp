#include "experiments/masks/claim.h"

#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <limits>
#include <utility>
#include <vector>

#include "common/least_squares.h"

namespace interlacer {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kFewestPoints = 3;
/// Significant ones of a figure, and the most of one that is nearly its bound.
constexpr int kDigits = 3, kMostDigits = 8;

std::string Figure(double value, int digits) {
  char text[32];
  const bool is_large = std::abs(value) >= 999.5 && std::abs(value) < 1e6;
  std::snprintf(text, sizeof text, is_large ? "%.*f" : "%.*g", is_large ? digits - kDigits : digits,
                value);
  return text;
}

/// With as many digits as tell it from a bound that it is beside.
std::string TellingText(double value, double bound) {
  int digits = kDigits;
  while (digits < kMostDigits && value != bound && Figure(value, digits) == Figure(bound, digits)) {
    ++digits;
  }
  return Figure(value, digits);
}

MaskClaim Judged(MaskClaim claim, std::optional<double> value, std::string rule, Verdict verdict,
                 std::initializer_list<double> bounds) {
  claim.value = value;
  claim.ours = FigureText(value);
  for (const double bound : bounds) {
    if (!value || !std::isfinite(*value)) continue;
    const std::string telling = TellingText(*value, bound);
    if (telling.size() > claim.ours.size()) claim.ours = telling;
  }
  claim.rule = std::move(rule);
  claim.verdict = verdict;
  return claim;
}

}  // namespace

std::string FigureText(const std::optional<double>& value) {
  return value && std::isfinite(*value) ? Figure(*value, kDigits) : "–";
}

Verdict JudgeRange(const std::optional<double>& value, double low, double high) {
  if (!value || !std::isfinite(*value)) return Verdict::kUndecided;
  return low <= *value && *value <= high ? Verdict::kHolds : Verdict::kDoesNotHold;
}

Verdict JudgeAtMost(const std::optional<double>& value, double high) {
  return JudgeRange(value, -kInfinity, high);
}

Verdict JudgeAbove(const std::optional<double>& value, double low) {
  return JudgeRange(value, std::nextafter(low, kInfinity), kInfinity);
}

Verdict JudgeSmaller(const std::optional<MeanEstimate>& a, const std::optional<MeanEstimate>& b) {
  if (!a || !b || !a->interval || !b->interval) return Verdict::kUndecided;
  if (a->interval->high < b->interval->low) return Verdict::kHolds;
  return a->interval->low > b->interval->high ? Verdict::kDoesNotHold : Verdict::kUndecided;
}

MaskClaim WithinRange(MaskClaim claim, std::optional<double> value, double low, double high) {
  return Judged(std::move(claim), value, "from " + FigureText(low) + " to " + FigureText(high),
                JudgeRange(value, low, high), {low, high});
}

MaskClaim AtMost(MaskClaim claim, std::optional<double> value, double high) {
  return Judged(std::move(claim), value, "at most " + FigureText(high), JudgeAtMost(value, high),
                {high});
}

MaskClaim Above(MaskClaim claim, std::optional<double> value, double low) {
  return Judged(std::move(claim), value, "above " + FigureText(low), JudgeAbove(value, low), {low});
}

std::optional<double> LogSlope(std::span<const double> x, std::span<const double> y) {
  if (x.size() != y.size() || x.size() < kFewestPoints) return std::nullopt;
  std::vector<double> log_x, log_y;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!(x[i] > 0) || !(y[i] > 0)) return std::nullopt;
    log_x.push_back(std::log(x[i]));
    log_y.push_back(std::log(y[i]));
  }
  const double slope = LeastSquaresSlope(log_x, log_y);
  return std::isnan(slope) ? std::nullopt : std::optional<double>(slope);
}

std::optional<double> Crossing(std::span<const double> x, std::span<const double> a,
                               std::span<const double> b) {
  for (std::size_t i = 1; i < x.size(); ++i) {
    const double before = std::log(a[i - 1] / b[i - 1]), after = std::log(a[i] / b[i]);
    if (!std::isfinite(before) || !std::isfinite(after) || before == after) continue;
    if ((before < 0) == (after < 0)) continue;
    const double share = before / (before - after);
    return std::exp(std::log(x[i - 1]) + share * (std::log(x[i]) - std::log(x[i - 1])));
  }
  return std::nullopt;
}

}  // namespace interlacer
