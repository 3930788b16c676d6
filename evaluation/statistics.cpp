#include "evaluation/statistics.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <string>

#include "common/random.h"

namespace interlacer {
namespace {

double Mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// The mean over runs of every episode, of `runs.size()` runs drawn with replacement; one run is
/// taken as it is.
std::vector<double> ResampledRuns(const RunValues& runs, RandomSequence* random) {
  if (runs.size() == 1) return runs.front();
  const auto count = static_cast<std::uint32_t>(runs.size());
  std::vector<double> means(runs.front().size(), 0);
  for (std::uint32_t r = 0; r < count; ++r) {
    const std::vector<double>& run = runs[random->Below(count)];
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += run[i] / count;
  }
  return means;
}

/// Every draw has its own random sequence, so that draws do not depend on each other.
RandomSequence DrawSequence(const BootstrapOptions& options, int draw) {
  return RandomSequence(static_cast<std::uint64_t>(options.seed), RandomStream::kBootstrap,
                        static_cast<std::uint32_t>(draw));
}

/// What an interval leaves out on each side.
double TailOf(const BootstrapOptions& options) { return (1 - options.confidence) / 2; }

Interval PercentileInterval(const std::vector<double>& draws, const BootstrapOptions& options) {
  const double tail = TailOf(options);
  return {*Percentile(draws, tail), *Percentile(draws, 1 - tail)};
}

/// Percentile interval of the mean over resampled runs and episodes (pigeonhole bootstrap).
Interval BootstrapInterval(const RunValues& runs, const BootstrapOptions& options) {
  const auto n = static_cast<std::uint32_t>(runs.front().size());
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(options.draw_count));
  for (int draw = 0; draw < options.draw_count; ++draw) {
    RandomSequence random = DrawSequence(options, draw);
    const std::vector<double> values = ResampledRuns(runs, &random);
    double sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) sum += values[random.Below(n)];
    means.push_back(sum / n);
  }
  return PercentileInterval(means, options);
}

/// Of at least two values, with n - 1 in the denominator.
double SampleDeviation(std::span<const double> values, double mean) {
  double square_sum = 0;
  for (const double v : values) square_sum += (v - mean) * (v - mean);
  return std::sqrt(square_sum / static_cast<double>(values.size() - 1));
}

/// The probability that Student's t with `freedom` degrees of freedom lies between -t and t, by the
/// finite series for whole degrees (Abramowitz and Stegun, 26.7.3 and 26.7.4).
double StudentCoverage(double t, int freedom) {
  const double angle = std::atan(t / std::sqrt(static_cast<double>(freedom)));
  const double cosine = std::cos(angle), square = cosine * cosine;
  const bool is_odd = freedom % 2 == 1;
  double term = is_odd ? cosine : 1, sum = freedom == 1 ? 0 : term;
  for (int k = is_odd ? 3 : 2; k <= freedom - 2; k += 2) {
    term *= square * (k - 1) / k;
    sum += term;
  }
  if (!is_odd) return std::sin(angle) * sum;
  return 2 / std::numbers::pi * (angle + std::sin(angle) * sum);
}

double StudentQuantile(double coverage, int freedom) {
  double low = 0, high = 1;
  while (StudentCoverage(high, freedom) < coverage) high *= 2;
  for (int i = 0; i < 100; ++i) {
    const double middle = (low + high) / 2;
    (StudentCoverage(middle, freedom) < coverage ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> MeanOverRuns(const RunValues& runs) {
  std::vector<double> means(runs.front().size(), 0);
  for (const std::vector<double>& run : runs) {
    for (std::size_t i = 0; i < means.size(); ++i) means[i] += run[i];
  }
  for (double& mean : means) mean /= static_cast<double>(runs.size());
  return means;
}

}  // namespace

std::optional<MeanEstimate> EstimateMean(std::span<const double> values,
                                         const BootstrapOptions& options) {
  return EstimateRunMean(RunValues{{values.begin(), values.end()}}, options);
}

std::optional<MeanEstimate> EstimateRunMean(const RunValues& runs,
                                            const BootstrapOptions& options) {
  if (runs.empty() || runs.front().empty()) return std::nullopt;
  const std::vector<double> values = MeanOverRuns(runs);
  MeanEstimate estimate;
  estimate.n = static_cast<int>(values.size());
  estimate.mean = Mean(values);
  if (estimate.n < 2) return estimate;
  estimate.std_dev = SampleDeviation(values, estimate.mean);
  estimate.interval = BootstrapInterval(runs, options);
  return estimate;
}

std::optional<RatioEstimate> EstimateRatio(std::span<const Fraction> episodes,
                                           const BootstrapOptions& options) {
  const auto n = static_cast<std::uint32_t>(episodes.size());
  const auto sums = [&](auto&& episode_at) {
    Fraction sum;
    for (std::uint32_t i = 0; i < n; ++i) {
      const Fraction& episode = episodes[episode_at(i)];
      sum.above += episode.above;
      sum.below += episode.below;
    }
    return sum;
  };
  const Fraction whole = sums([](std::uint32_t i) { return i; });
  if (whole.below == 0) return std::nullopt;
  RatioEstimate estimate{whole.above / whole.below, static_cast<int>(n), {}};
  if (n < 2) return estimate;
  std::vector<double> ratios;
  for (int draw = 0; draw < options.draw_count; ++draw) {
    RandomSequence random = DrawSequence(options, draw);
    const Fraction drawn = sums([&](std::uint32_t) { return random.Below(n); });
    if (drawn.below * whole.below > 0) ratios.push_back(drawn.above / drawn.below);
  }
  const double least = (1 - TailOf(options)) * options.draw_count;
  if (static_cast<double>(ratios.size()) < least) return std::nullopt;
  estimate.interval = PercentileInterval(ratios, options);
  return estimate;
}

std::optional<Interval> StudentInterval(std::span<const double> values, double confidence) {
  if (values.size() < 2) return std::nullopt;
  const double mean = Mean(values), n = static_cast<double>(values.size());
  const double half_width = StudentQuantile(confidence, static_cast<int>(values.size()) - 1) *
                            SampleDeviation(values, mean) / std::sqrt(n);
  return Interval{mean - half_width, mean + half_width};
}

StatusOr<PairedDifference> ComparePaired(std::span<const double> a, std::span<const double> b,
                                         const BootstrapOptions& options) {
  return ComparePairedRuns(RunValues{{a.begin(), a.end()}}, RunValues{{b.begin(), b.end()}},
                           options);
}

StatusOr<PairedDifference> ComparePairedRuns(const RunValues& a, const RunValues& b,
                                             const BootstrapOptions& options) {
  if (a.size() != b.size() || a.empty()) {
    return Mismatch(reason::SHAPE_MISMATCH, "paired runs", "the same number of them, at least 1",
                    std::to_string(a.size()) + " and " + std::to_string(b.size()));
  }
  RunValues differences(a.size());
  for (std::size_t r = 0; r < a.size(); ++r) {
    if (a[r].size() != b[r].size() || a[r].size() != a[0].size() || a[r].empty()) {
      return Mismatch(reason::SHAPE_MISMATCH, "paired values", "lists of one length, at least 1",
                      std::to_string(a[r].size()) + " and " + std::to_string(b[r].size()));
    }
    for (std::size_t i = 0; i < a[r].size(); ++i) differences[r].push_back(a[r][i] - b[r][i]);
  }
  PairedDifference out;
  out.run_count = static_cast<int>(differences.size());
  for (const std::vector<double>& run : differences) {
    out.run_means.push_back(Mean(run));
    out.runs_above += out.run_means.back() > 0;
    out.runs_below += out.run_means.back() < 0;
  }
  out.over_runs = StudentInterval(out.run_means);
  for (const double difference : MeanOverRuns(differences)) {
    if (difference > 0) {
      ++out.wins;
    } else if (difference < 0) {
      ++out.losses;
    } else {
      ++out.ties;
    }
  }
  out.difference = *EstimateRunMean(differences, options);
  return out;
}

std::optional<double> Percentile(std::vector<double> values, double p) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const double position = std::clamp(p, 0.0, 1.0) * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  const double fraction = position - static_cast<double>(below);
  // Between infinities there is no difference to take a share of.
  if (fraction == 0 || values[below] == values[above]) return values[below];
  return values[below] + fraction * (values[above] - values[below]);
}

}  // namespace interlacer
