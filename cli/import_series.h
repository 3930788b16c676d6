#pragma once

/// Several episodes of one source into the folder of a data set, each its own import.
///
/// A folder that is begun goes on with `resume`: finished episodes stay, if the same options have
/// made them. An episode that cannot be imported is named and the rest goes on; the first one that
/// is tried ends the run, for what is wrong with it is mostly wrong with all. A stop ends between
/// frames and leaves the finished ones in dataset.json. One run, one thread.

#include <cstdint>
#include <string>
#include <vector>

#include "cli/verb.h"
#include "common/status.h"
#include "data/importers/import_options.h"

namespace interlacer::cli {

struct ImportSeriesOptions {
  std::string episodes;  ///< "all", or "0-9", "0,4,7-": numbers from 0
  std::string split = "train";
  bool resume = false;
};

/// Numbers below `count` in ascending order, each once. Errors: ARGUMENT_INVALID at --episodes.
StatusOr<std::vector<std::int64_t>> ParseEpisodeNumbers(const std::string& text,
                                                        std::int64_t count);

/// `import.episode_dir` is the data set's folder and `command` repeats the import without the
/// number of an episode. The exit code is that of a bad input where an episode failed, of a failed
/// check where validation has found an error.
StatusOr<ExitCode> RunImportSeries(const std::string& format, ImportOptions import,
                                   const ImportSeriesOptions& series, const std::string& command,
                                   const VerbContext& context);

}  // namespace interlacer::cli
