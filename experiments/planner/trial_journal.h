#pragma once

/// Trials that have ended, each a line of JSON in a file, so that a run that was cut off goes on.
///
/// The first line says what the trials are of; another study does not go on there
/// (INVALID_ARGUMENT ARGUMENT_INVALID `--journal`). A line that was being written when the run
/// ended counts for nothing. Other errors: those of common/file_io.h and TrialFromJson. One thread.

#include <optional>
#include <string>
#include <vector>

#include "experiments/planner/closed_loop.h"

namespace interlacer {

class TrialJournal {
 public:
  /// Of options and model of `study`. With an empty path it keeps nothing.
  static StatusOr<TrialJournal> Open(const std::string& path, const ClosedLoopStudy& study);

  std::optional<TrialResult> Find(std::uint64_t seed, Chooser chooser) const;
  Status Add(const TrialResult& trial);

 private:
  explicit TrialJournal(std::string path) : path_(std::move(path)) {}

  Status Append(const std::string& line) const;

  std::string path_;
  std::vector<TrialResult> trials_;
};

}  // namespace interlacer
