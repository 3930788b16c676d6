#pragma once

/// Which particles of a rollout are sent.
///
/// Indices, ascending: the output's region at step 0 first, then every stride-th of those (a stride
/// below 1 counts as 1). `positions_m` [count,3] of step 0 is read only where there is a region; it
/// may be null otherwise. Thread-safe.

#include <cstdint>
#include <vector>

#include "common/prediction.h"

namespace interlacer {

std::vector<std::uint32_t> SelectParticles(std::int64_t count, const float* positions_m,
                                           const OutputOptions& output);

}  // namespace interlacer
