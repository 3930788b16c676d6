#pragma once

/// Means with bootstrap intervals, paired differences, percentiles.
///
/// One number an episode goes in: frames of one episode are not independent and are averaged
/// before. Intervals are percentile bootstrap over episodes with counter-based random numbers, so
/// equal numbers and seed give equal intervals everywhere. Where several training runs were scored
/// on the same episodes, runs and episodes are both resampled (a crossed design): an interval over
/// episodes alone does not cover the variation between runs. With few runs such an interval is
/// weak: three draws from three runs are the lowest run alone once in 27, so that the bounds lie
/// near the extreme runs. The number of runs that agree in sign and Student's interval over the
/// runs are therefore reported beside it. Pure functions, thread-safe. Errors: INVALID_ARGUMENT
/// SHAPE_MISMATCH when paired lists differ in length. Source: pigeonhole.

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct BootstrapOptions {
  int draw_count = 2000;
  std::int64_t seed = 0;
  double confidence = 0.95;
};

struct Interval {
  double low = 0;
  double high = 0;
  bool Contains(double value) const { return low <= value && value <= high; }
};

/// One list a run, all over the same episodes in the same order.
using RunValues = std::vector<std::vector<double>>;

/// `n` episodes; `std_dev` is the sample's (n - 1), of the means over runs; 0 when n is 1.
struct MeanEstimate {
  double mean = 0;
  double std_dev = 0;
  int n = 0;
  /// Absent when n is below 2: one episode shows no variation.
  std::optional<Interval> interval;
};

/// Episodes from which on an interval of their mean difference decides: fewer lie all on one side
/// by chance more often than once in 20 (2 of 2^n), and the bounds are about the extreme ones.
inline constexpr int kFewestToDecide = 6;

/// Absent for no values.
std::optional<MeanEstimate> EstimateMean(std::span<const double> values,
                                         const BootstrapOptions& options = {});
std::optional<MeanEstimate> EstimateRunMean(const RunValues& runs,
                                            const BootstrapOptions& options = {});

struct PairedDifference {
  MeanEstimate difference;  ///< of a[i] - b[i]
  int wins = 0;             ///< a[i] > b[i]
  int losses = 0;
  int ties = 0;
  int run_count = 0;
  int runs_above = 0;  ///< runs whose mean difference is above 0
  int runs_below = 0;
  std::vector<double> run_means;  ///< the mean difference of each run
  /// Student's 95 % interval over them; absent for fewer than two runs.
  std::optional<Interval> over_runs;
};

/// `a` and `b` hold one number for each of the same episodes in the same order, at least one.
StatusOr<PairedDifference> ComparePaired(std::span<const double> a, std::span<const double> b,
                                         const BootstrapOptions& options = {});
/// ComparePaired over several runs, the same ones in the same order on both sides; wins and losses
/// are counted on means over runs.
StatusOr<PairedDifference> ComparePairedRuns(const RunValues& a, const RunValues& b,
                                             const BootstrapOptions& options = {});

/// Quotient of two means over the same `n` episodes.
struct RatioEstimate {
  double ratio = 0;
  int n = 0;
  std::optional<Interval> interval;  ///< absent when n is below 2
};
/// Of one episode.
struct Fraction {
  double above = 0;
  double below = 0;
};
/// Absent for no episodes, and where the sign of the denominator is not known: it is 0, or it
/// reaches 0 in more draws than an interval leaves out on one side. The quotient says nothing then.
std::optional<RatioEstimate> EstimateRatio(std::span<const Fraction> episodes,
                                           const BootstrapOptions& options = {});

/// Student's interval of the mean, n - 1 degrees of freedom; absent for fewer than two values.
std::optional<Interval> StudentInterval(std::span<const double> values, double confidence = 0.95);

/// Linear interpolation between order statistics; p in [0,1]; absent for no values.
std::optional<double> Percentile(std::vector<double> values, double p);

}  // namespace interlacer
