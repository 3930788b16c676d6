#include "client/cli/evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>

#include "common/random.h"

namespace interlacer {
namespace {

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Interval BootstrapInterval(std::span<const double> values, const BootstrapOptions& options) {
  const auto n = static_cast<std::uint32_t>(values.size());
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(options.draw_count));
  for (int draw = 0; draw < options.draw_count; ++draw) {
    RandomSequence random(static_cast<std::uint64_t>(options.seed), RandomStream::kBootstrap,
                          static_cast<std::uint32_t>(draw));
    double sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) sum += values[random.Below(n)];
    means.push_back(sum / n);
  }
  const double tail = (1 - options.confidence) / 2;
  return {*Percentile(means, tail), *Percentile(means, 1 - tail)};
}

}  // namespace

std::optional<MeanEstimate> EstimateMean(std::span<const double> values,
                                         const BootstrapOptions& options) {
  if (values.empty()) return std::nullopt;
  MeanEstimate estimate;
  estimate.n = static_cast<int>(values.size());
  estimate.mean = Mean(values);
  if (estimate.n < 2) return estimate;
  double square_sum = 0;
  for (const double v : values) square_sum += (v - estimate.mean) * (v - estimate.mean);
  estimate.std_dev = std::sqrt(square_sum / (estimate.n - 1));
  estimate.interval = BootstrapInterval(values, options);
  return estimate;
}

StatusOr<PairedDifference> ComparePaired(std::span<const double> a, std::span<const double> b,
                                         const BootstrapOptions& options) {
  if (a.size() != b.size() || a.empty()) {
    return Mismatch(reason::SHAPE_MISMATCH, "paired values", "two lists of one length, at least 1",
                    std::to_string(a.size()) + " and " + std::to_string(b.size()));
  }
  PairedDifference out;
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    differences[i] = a[i] - b[i];
    if (differences[i] > 0) {
      ++out.wins;
    } else if (differences[i] < 0) {
      ++out.losses;
    } else {
      ++out.ties;
    }
  }
  out.difference = *EstimateMean(differences, options);
  return out;
}

std::optional<double> Percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double fraction = position - static_cast<double>(below);
  return values[below] + fraction * (values[above] - values[below]);
}

}  // namespace interlacer
