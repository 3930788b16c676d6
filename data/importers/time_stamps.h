#pragma once

/// Brings the time stamps of a file to seconds and finds what is wrong with them.
///
/// Stamps since 1970 tell their unit by their size: seconds, or milli-, micro- or nanoseconds as
/// ROS and EuRoC write them. Others (since the start of a device) do not: they are seconds, and a
/// spacing of recordings' frames that seconds would not have is refused until the unit is named.
/// Errors: INVALID_ARGUMENT TIMESTAMP_INVALID at `file`. Pure functions, thread-safe.

#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer {

/// "s", "ms", "us" or "ns"; ARGUMENT_INVALID for others.
StatusOr<double> SecondsOfTimeUnit(const std::string& unit);

/// Seconds of one unit of `stamps` (all of a file, any order). An empty `unit` finds it by size.
StatusOr<double> FindTimeUnit(const std::vector<double>& stamps, const std::string& unit,
                              const std::string& file);

/// Whether stamps are whole numbers, each one step more than that before it or, past left out
/// frames, several, and no seconds since 1970.
bool AreCounts(const std::vector<double>& stamps);

/// Refuses stamps of which more than a tenth equal their predecessor though the entries differ:
/// written with too few digits, none of them says when it was.
Status CheckStampDigits(std::size_t equal_count, std::size_t count, const std::string& file);

}  // namespace interlacer
