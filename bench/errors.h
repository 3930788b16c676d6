#pragma once

/// Error measures between a result and its reference, in double. NaN anywhere, or different
/// lengths, give NaN, which passes no gate. Inputs are spans or vectors of numbers. Pure functions.

#include <cmath>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

#include "bench/timer.h"

namespace interlacer::bench {

/// Contents of a buffer before a checked run.
inline constexpr float kPoison = std::numeric_limits<float>::quiet_NaN();

/// |got - reference| / |reference|; the absolute norm when the reference is zero.
template <typename A, typename B>
double RelativeL2(const A& got, const B& reference) {
  if (got.size() != reference.size()) return std::numeric_limits<double>::quiet_NaN();
  double difference = 0, norm = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double delta = static_cast<double>(got[i]) - static_cast<double>(reference[i]);
    difference += delta * delta;
    norm += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
  }
  return norm > 0 ? std::sqrt(difference / norm) : std::sqrt(difference);
}

template <typename A, typename B>
double MaxAbs(const A& got, const B& reference) {
  if (got.size() != reference.size()) return std::numeric_limits<double>::quiet_NaN();
  double worst = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double delta = std::fabs(static_cast<double>(got[i]) - static_cast<double>(reference[i]));
    if (!(delta <= worst)) worst = delta;
    if (std::isnan(worst)) return worst;
  }
  return worst;
}

/// The quantile `q` in [0,1] of the absolute differences.
template <typename A, typename B>
double AbsQuantile(const A& got, const B& reference, double q) {
  if (std::isnan(MaxAbs(got, reference))) return std::numeric_limits<double>::quiet_NaN();
  std::vector<double> differences;
  differences.reserve(got.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    differences.push_back(
        std::fabs(static_cast<double>(got[i]) - static_cast<double>(reference[i])));
  }
  return Quantile(std::move(differences), q);
}

/// Fraction of entries that differ.
template <typename A, typename B>
double ShareOfDifferent(const A& got, const B& reference) {
  if (got.size() != reference.size()) return std::numeric_limits<double>::quiet_NaN();
  std::size_t different = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (static_cast<double>(got[i]) != static_cast<double>(reference[i])) ++different;
  }
  return got.empty() ? 0 : static_cast<double>(different) / static_cast<double>(got.size());
}

}  // namespace interlacer::bench
