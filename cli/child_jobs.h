#pragma once

/// Runs commands of this program as processes of their own, a few at a time.
///
/// Each job's output goes to a log file. On a stop the running jobs get SIGINT once, after which
/// `interlacer train` saves and ends, and no further job starts; the call returns when all have
/// ended. A job gets SIGINT too if this process dies, so that none goes on unseen beside its
/// successor. Errors: FAILED_PRECONDITION FILE_UNWRITABLE for a log, INTERNAL if no process can be
/// made; CANCELLED on a stop. One call at a time.

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/status.h"

namespace interlacer::cli {

struct ChildJob {
  std::string name;
  std::vector<std::string> arguments;  ///< without the program
  std::string log_path;                ///< replaced
};

/// `on_end` is called with the place of each job in the list and its exit code (128 + signal where
/// a signal ended it), one call at a time, in order of ending.
Status RunChildJobs(const std::vector<ChildJob>& jobs, int jobs_at_once,
                    const std::stop_token& stop,
                    const std::function<void(std::size_t, int)>& on_end);

}  // namespace interlacer::cli
