#pragma once

/// Time and memory of a mechanism at growing lengths, until they are too large for the run.
/// Measurements: one at a time.

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "experiments/masks/pages.h"
#include "model/attention/files/mask_measurements.h"

namespace interlacer {

struct CostPoint {
  std::int64_t length = 0;
  attention::Cost cost;
};

struct CostSeries {
  std::vector<CostPoint> points;
  std::string end;  ///< why longer ones are left out; empty if none are

  std::vector<double> Lengths() const;
  std::vector<double> Seconds() const;
};

/// `request` at each length, ascending. Ends after a run above the limit of `run`, where the next
/// is expected to take more memory than it allows, and with an error of the mechanism. `adapt`, if
/// given, sets what depends on the length.
using AdaptRequest = std::function<void(std::int64_t length, attention::CostRequest* request)>;
StatusOr<CostSeries> MeasureSeries(attention::CostRequest request,
                                   const std::vector<std::int64_t>& lengths, const MaskRun& run,
                                   const AdaptRequest& adapt = {});

enum class CostKind { kSeconds, kBytes };
/// Growth as length^x log2(length)^log_power: x by least squares, over the points from `from` on;
/// absent for fewer than three.
std::optional<double> Exponent(const CostSeries& series, CostKind kind, std::int64_t from,
                               double log_power = 0);

inline constexpr int kMostForeseen = 4;
struct Overtaking {
  /// The least from which on the fast way is at least as fast at every measured length.
  std::optional<std::int64_t> length;
  std::int64_t measured_length = 0;  ///< the longest of both
  /// Without one: the first doubling behind where both would meet if each grew on as over its last
  /// two; nothing where the dense way grows no faster, or not so much that they meet within
  /// kMostForeseen doublings.
  std::optional<double> foreseen_length;
};
Overtaking FindOvertaking(const CostSeries& fast, const CostSeries& dense);

/// Colour of a mechanism in charts that have room for some of them; nothing for all others.
std::optional<std::size_t> ShownStyle(const std::string& mechanism);
/// first, 2 first, ... up to `last`.
std::vector<std::int64_t> Doublings(std::int64_t first, std::int64_t last);
/// log2 of length and log10 of seconds or MiB.
ChartSeries LogSeries(const std::string& name, const CostSeries& series, CostKind kind,
                      std::size_t style);

}  // namespace interlacer
