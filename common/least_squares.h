#pragma once

/// The straight line nearest to points. Thread-safety: pure functions.

#include <cmath>
#include <cstddef>
#include <span>

namespace interlacer {

/// Slope of y over x by least squares; NaN where all x are equal or there is no point. `y` has x's
/// size.
inline double LeastSquaresSlope(std::span<const double> x, std::span<const double> y) {
  const auto count = static_cast<double>(x.size());
  double mean_x = 0, mean_y = 0, products = 0, squares = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    mean_x += x[i] / count;
    mean_y += y[i] / count;
  }
  for (std::size_t i = 0; i < x.size(); ++i) {
    products += (x[i] - mean_x) * (y[i] - mean_y);
    squares += (x[i] - mean_x) * (x[i] - mean_x);
  }
  return squares > 0 ? products / squares : std::nan("");
}

}  // namespace interlacer
