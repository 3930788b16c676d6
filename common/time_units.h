#pragma once

/// Units of time.

#include <cstdint>

namespace interlacer {

inline constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;

}  // namespace interlacer
