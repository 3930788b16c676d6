#pragma once

/// When a refused caller should come again, as metadata of a Status. Thread-safe.

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "common/status.h"

namespace interlacer {

inline constexpr char kRetryDelayKey[] = "retry_delay_s";

/// 0 where the status does not say; of a server's status it may be any text.
inline double RetryDelayS(const Status& status) {
  const auto delay = status.metadata().find(kRetryDelayKey);
  if (delay == status.metadata().end()) return 0;
  const double seconds = std::strtod(delay->second.c_str(), nullptr);
  return std::isfinite(seconds) ? std::max(seconds, 0.0) : 0;
}

}  // namespace interlacer
