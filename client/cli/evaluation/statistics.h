#pragma once

/// Means with bootstrap intervals, paired differences, percentiles.
///
/// One number an episode goes in: frames of one episode are not independent and are averaged
/// before. Intervals are percentile bootstrap over episodes with counter-based random numbers, so
/// equal numbers and seed give equal intervals everywhere. Pure functions, thread-safe.
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH when paired lists differ in length.

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

/// `std_dev` is the sample's (n - 1); 0 when n is 1.
struct MeanEstimate {
  double mean = 0;
  double std_dev = 0;
  int n = 0;
  /// Absent when n is below 2: one episode says nothing about its neighbours.
  std::optional<Interval> interval;
};

/// Absent for no values.
std::optional<MeanEstimate> EstimateMean(std::span<const double> values,
                                         const BootstrapOptions& options = {});

struct PairedDifference {
  MeanEstimate difference;  ///< of a[i] - b[i]
  int wins = 0;             ///< a[i] > b[i]
  int losses = 0;
  int ties = 0;
};

/// `a` and `b` hold one number for each of the same episodes in the same order, at least one.
StatusOr<PairedDifference> ComparePaired(std::span<const double> a, std::span<const double> b,
                                         const BootstrapOptions& options = {});

/// Linear interpolation between order statistics; p in [0,1]; absent for no values.
std::optional<double> Percentile(std::vector<double> values, double p);

}  // namespace interlacer
