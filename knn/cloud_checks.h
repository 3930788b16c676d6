#pragma once

/// Input checks shared by all back ends of the neighbour search.
///
/// Errors: INVALID_ARGUMENT SHAPE_MISMATCH if positions_m is not [n,3], NOT_FINITE with the first
/// bad index, ARGUMENT_INVALID if k < 1; OUT_OF_RANGE ARGUMENT_INVALID above 2^24 points (list
/// entries hold 24-bit nodes). Pure functions, thread-safe.

#include <cstdint>
#include <span>

#include "common/status.h"

namespace interlacer {

inline constexpr std::int64_t kMaxCloudPoints = std::int64_t{1} << 24;

/// Number of points.
StatusOr<std::int64_t> CheckCloud(std::span<const float> positions_m, int k);

}  // namespace interlacer
