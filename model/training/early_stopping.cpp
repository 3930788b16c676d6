#include "model/training/early_stopping.h"

#include <cmath>
#include <cstddef>
#include <numeric>

namespace interlacer {

bool IsFlat(std::span<const double> losses, const FlatnessRule& rule) {
  const auto window = static_cast<std::size_t>(rule.window);
  if (rule.window <= 0 || losses.size() < 2 * window) return false;
  // Both windows have one length, so sums compare as means do.
  const auto sum = [](std::span<const double> part) {
    return std::accumulate(part.begin(), part.end(), 0.0);
  };
  const double last = sum(losses.last(window));
  const double before = sum(losses.last(2 * window).first(window));
  return std::isfinite(last) && std::isfinite(before) && before > 0 &&
         last >= (1 - rule.min_improvement) * before;
}

}  // namespace interlacer
