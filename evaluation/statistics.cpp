#include "evaluation/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
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

/// Percentile interval of the mean over resampled runs and episodes (pigeonhole bootstrap). Every
/// draw has its own random sequence, so that draws do not depend on each other.
Interval BootstrapInterval(const RunValues& runs, const BootstrapOptions& options) {
  const auto n = static_cast<std::uint32_t>(runs.front().size());
  std::vector<double> means;
  means.reserve(static_cast<std::size_t>(options.draw_count));
  for (int draw = 0; draw < options.draw_count; ++draw) {
    RandomSequence random(static_cast<std::uint64_t>(options.seed), RandomStream::kBootstrap,
                          static_cast<std::uint32_t>(draw));
    const std::vector<double> values = ResampledRuns(runs, &random);
    double sum = 0;
    for (std::uint32_t i = 0; i < n; ++i) sum += values[random.Below(n)];
    means.push_back(sum / n);
  }
  const double tail = (1 - options.confidence) / 2;
  return {*Percentile(means, tail), *Percentile(means, 1 - tail)};
}

/// Of at least two values, with n - 1 in the denominator.
double SampleDeviation(std::span<const double> values, double mean) {
  double square_sum = 0;
  for (const double v : values) square_sum += (v - mean) * (v - mean);
  return std::sqrt(square_sum / static_cast<double>(values.size() - 1));
}

/// 97.5 % quantiles of Student's t for 1, 2, ... degrees of freedom; beyond them the last is wide
/// enough.
constexpr std::array kStudent{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365,
                              2.306,  2.262, 2.228, 2.201, 2.179, 2.160, 2.145,
                              2.131,  2.120, 2.110, 2.101, 2.093, 2.086};

/// mean -+ t * s / sqrt(n) with n - 1 degrees of freedom.
std::optional<Interval> StudentInterval(std::span<const double> values) {
  if (values.size() < 2) return std::nullopt;
  const double mean = Mean(values), n = static_cast<double>(values.size());
  const double half_width = kStudent[std::min(values.size() - 2, kStudent.size() - 1)] *
                            SampleDeviation(values, mean) / std::sqrt(n);
  return Interval{mean - half_width, mean + half_width};
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
  std::vector<double> run_means;
  for (const std::vector<double>& run : differences) {
    run_means.push_back(Mean(run));
    out.runs_above += run_means.back() > 0;
    out.runs_below += run_means.back() < 0;
  }
  out.over_runs = StudentInterval(run_means);
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
  return values[below] + fraction * (values[above] - values[below]);
}

}  // namespace interlacer
