#pragma once

/// Merges the results of an evaluation's shards, as if it had run in one piece.
///
/// Episodes and values have the order of `episode_ids`; durations add up. Each episode is taken
/// from the first part that finished it, else its failure from the first that has one. Errors:
/// those of CheckResumable for two parts; NOT_FOUND FILE_NOT_FOUND naming an episode of no part.
/// Pure function, thread-safe.

#include <string>
#include <vector>

#include "common/status.h"
#include "evaluation/results.h"

namespace interlacer {

/// `parts` are not empty. Command and creation time are those of the first.
StatusOr<Results> MergeResults(const std::vector<Results>& parts,
                               const std::vector<std::string>& episode_ids);

}  // namespace interlacer
