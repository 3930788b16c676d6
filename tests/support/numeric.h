#pragma once

/// Vectors of numbers for tests: random fills, norms, and gradients by central differences.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "common/random.h"

namespace interlacer::testing {

/// Standard normal numbers; `which` distinguishes arrays of one seed.
template <typename T>
std::vector<T> RandomNormal(std::int64_t count, std::uint64_t seed, std::uint32_t which) {
  RandomSequence random(seed, RandomStream::kDataGeneration, which);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(random.Normal());
  return values;
}

/// A poisoned output array, so that unwritten items are noticed.
template <typename T>
std::vector<T> Poisoned(std::int64_t count) {
  return std::vector<T>(static_cast<std::size_t>(count), std::numeric_limits<T>::quiet_NaN());
}

template <typename A, typename B>
double RelativeL2(const std::vector<A>& values, const std::vector<B>& reference) {
  double squared_error = 0;
  double squared_norm = 0;
  for (std::size_t i = 0; i < reference.size(); ++i) {
    const double error = static_cast<double>(values[i]) - static_cast<double>(reference[i]);
    squared_error += error * error;
    squared_norm += static_cast<double>(reference[i]) * static_cast<double>(reference[i]);
  }
  return squared_norm == 0 ? std::sqrt(squared_error) : std::sqrt(squared_error / squared_norm);
}

template <typename A, typename B>
double Cosine(const std::vector<A>& a, const std::vector<B>& b) {
  double dot = 0, aa = 0, bb = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    dot += static_cast<double>(a[i]) * static_cast<double>(b[i]);
    aa += static_cast<double>(a[i]) * static_cast<double>(a[i]);
    bb += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return dot / std::sqrt(aa * bb);
}

/// d loss / d values by central differences; `values` is restored.
inline std::vector<double> CentralDifferences(std::vector<double>& values,
                                              const std::function<double()>& loss) {
  constexpr double kStep = 1e-6;
  std::vector<double> gradient(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double value = values[i];
    values[i] = value + kStep;
    const double above = loss();
    values[i] = value - kStep;
    const double below = loss();
    values[i] = value;
    gradient[i] = (above - below) / (2 * kStep);
  }
  return gradient;
}

}  // namespace interlacer::testing
