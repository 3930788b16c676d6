#pragma once

/// Selects the steps and particles of a rollout that are sent, and the renderings that its views
/// need.
///
/// Pure functions, thread-safe. Errors: INVALID_ARGUMENT STEP_INVALID, OUT_OF_RANGE LIMIT_STEPS,
/// with paths from the output options.

#include <cstdint>
#include <span>
#include <vector>

#include "common/prediction.h"
#include "common/status.h"

namespace interlacer {

/// `asked`, checked: ascending from 0, at most `max_step`. An empty list means all steps from 1,
/// one for each action row. Row s - 1 belongs to step s, so rows bound the steps; without a robot
/// they do not. Never empty.
StatusOr<std::vector<int>> SelectSteps(std::span<const int> asked, bool has_robot,
                                       std::int64_t row_count, std::int64_t max_step);

/// Indices, ascending: the output's region at step 0 first, then every stride-th of those (a stride
/// below 1 counts as 1). `positions_m` [count,3] of step 0 is read only where there is a region; it
/// may be null otherwise.
std::vector<std::uint32_t> SelectParticles(std::int64_t count, const float* positions_m,
                                           const OutputOptions& output);

/// Whether two targets need one rendering only, such as colour and depth of one camera.
bool ShowSameView(const RenderTarget& a, const RenderTarget& b);

}  // namespace interlacer
