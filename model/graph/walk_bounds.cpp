#include "model/graph/walk_bounds.h"

#include <cmath>
#include <limits>

namespace interlacer {
namespace {

/// With this probability for each of so many independent walks, one of them fails with
/// `probability`.
double OfOneWalk(double probability, int walk_count) {
  return -std::expm1(std::log1p(-probability) / walk_count);
}

}  // namespace

double LoadNorm(std::span<const double> coefficients, double largest_step_load) {
  double sum = 0;
  double power = 1;
  for (const double f : coefficients) {
    sum += std::abs(f) * power;
    power *= largest_step_load;
  }
  return sum;
}

double ErrorProbabilityBound(double error, int walk_count, double c) {
  // 2 exp(-t^2 n^3 / (2 (2n - 1)^2 c^4))
  const double n = walk_count;
  const double change = (2 * n - 1) * c * c;
  return 2 * std::exp(-error * error * n * n * n / (2 * change * change));
}

int WalksForBound(double error, double probability, double c) {
  constexpr int kMost = std::numeric_limits<int>::max();
  int walks = 1;
  while (ErrorProbabilityBound(error, walks, c) > probability) {
    if (walks == kMost) return kMost;
    walks = walks > kMost / 2 ? kMost : 2 * walks;
  }
  int low = walks / 2;
  while (walks - low > 1) {
    const int middle = low + (walks - low) / 2;
    (ErrorProbabilityBound(error, middle, c) > probability ? low : walks) = middle;
  }
  return walks;
}

double VisitedNodesBound(double probability, int walk_count, double halt_probability) {
  // b = ln(1 - (1 - delta)^(1/n)) / ln(1 - p_halt)
  return std::ceil(std::log(OfOneWalk(probability, walk_count)) / std::log1p(-halt_probability));
}

int VisitedNodesBound(double probability, int walk_count, std::span<const double> shares) {
  const double one_walk_fails = OfOneWalk(probability, walk_count);
  std::size_t nodes = 1;
  while (nodes < shares.size() && shares[nodes] > one_walk_fails) ++nodes;
  return static_cast<int>(nodes);
}

}  // namespace interlacer
