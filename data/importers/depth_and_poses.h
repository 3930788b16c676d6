#pragma once

/// Tests the depths of an episode by its poses, and both by its colours (view_pairs.h).

#include <optional>
#include <span>

#include "data/episode_reader.h"
#include "data/importers/source_mistakes.h"

namespace interlacer {

/// The first of
///   DEPTH_UNIT_SUSPECT   the views disagree, and another unit in use (1, 0.25, 0.2, 0.1 mm, ...)
///                        lets them agree far better, unless the format fixes it
///   CALIBRATION_SUSPECT  one of `mistakes` taken out does; or frames of a moving camera lie so far
///                        apart that none can be compared, or disagree (fixed cameras are compared
///                        by data/validate.h); or surfaces agree and their colours do not
/// Nothing where the views agree or where too few pixels show the same place. Reads a few pairs of
/// frames. Thread-safe.
std::optional<Finding> CompareDepthWithPoses(const EpisodeReader& episode,
                                             std::span<const SourceMistake> mistakes,
                                             bool is_depth_unit_fixed = false);

}  // namespace interlacer
