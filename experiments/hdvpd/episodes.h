#pragma once

/// Lists the episodes of a comparison of variants. Errors: those of data sets; INVALID_ARGUMENT for
/// one that is no manipulation; NOT_FOUND FILE_NOT_FOUND for an empty split. Threads: free
/// functions.

#include <cstdint>
#include <string>
#include <vector>

#include "common/status.h"
#include "experiments/hdvpd/failures.h"

namespace interlacer {

struct StudyEpisode {
  std::string id;
  std::string dir;
  std::string manifest_sha256;
  std::string task;
  bool is_still = false;  ///< the planned rows never change
};

struct StudyEpisodes {
  std::vector<StudyEpisode> readable;
  std::vector<PieceFailure> unreadable;  ///< chosen too, but no run can open them
};

/// Episodes of the split in the order of the data set, at most `limit` (0: all), moving and still
/// ones each spread over it. Episodes that cannot be opened count as moving; where none can be
/// opened, the error of the first one is returned.
StatusOr<StudyEpisodes> ListStudyEpisodes(const std::string& dataset, const std::string& split,
                                          std::int64_t limit);

/// The episodes in which the arms move, as pointers into the argument.
std::vector<const StudyEpisode*> MovingEpisodes(const std::vector<StudyEpisode>& episodes);

}  // namespace interlacer
