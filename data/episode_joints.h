#pragma once

/// Joint values of an episode's robot, in the order of its columns, whatever order the table has.
///
/// Errors: FAILED_PRECONDITION ACTION_KIND where the episode has no robot folder or the table no
/// joint positions; those of MatchColumns in robots/joint_values.h. Pure function, thread-safe.

#include <vector>

#include "common/status.h"
#include "data/episode_reader.h"

namespace interlacer {

/// The measured joints of a step.
StatusOr<std::vector<double>> MeasuredJoints(const EpisodeReader& episode, int step);

}  // namespace interlacer
