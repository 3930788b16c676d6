#pragma once

/// Partners of moments among the moments of another sensor, and how far apart moments are.
/// Nanoseconds, ascending. Pure functions, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

namespace interlacer {

/// Index in `b` of the partner of each of `a`, or -1: pairs at most `limit_ns` apart, the closest
/// first, each once.
std::vector<int> MatchTimes(std::span<const std::int64_t> a, std::span<const std::int64_t> b,
                            std::int64_t limit_ns);

/// The mean of the spacings near their median: one left out doubles a spacing, and stamps of few
/// digits round each. 0 for fewer than two.
std::int64_t SpacingNs(std::span<const std::int64_t> times_ns);

/// Index of the time nearest to `time_ns`; of none -1.
int NearestTime(std::span<const std::int64_t> times_ns, std::int64_t time_ns);

}  // namespace interlacer
