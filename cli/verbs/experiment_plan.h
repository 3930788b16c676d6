#pragma once

/// Makes the data, runs and frozen weights of a planned study, as far as they are missing: every
/// simulation and training is `interlacer simulate` or `train` in a process of its own, with one
/// thread, so that weights do not depend on how many run at once.
///
///   OUTPUT/plan.json      the plan of the first call; another one is refused afterwards
///   OUTPUT/configs, logs  configuration and output of every cell (experiments/hdvpd/cells.h)
///   OUTPUT/runs           the cells
///   OUTPUT/choices.json   what the search chose
///   OUTPUT/frozen.json    SHA-256 of the weights that are scored; written before there is a test
///   OUTPUT/test           the test episodes
///
/// Errors: INTERNAL for a child that fails, naming its log; FAILED_PRECONDITION CONFIG_INVALID for
/// another plan, CHECKPOINT_INVALID for a run that began with other weights than the run before it
/// now has and for other weights than the frozen ones, OUTPUT_EXISTS for test episodes before that;
/// CANCELLED on a stop. One call at a time for a folder.

#include <set>
#include <string>

#include "cli/verb.h"
#include "experiments/hdvpd/plan.h"

namespace interlacer::cli {

struct PlannedStudyOptions {
  std::string plan_path;
  std::string output;
  std::string data;  ///< folder of the splits train and val
  std::string device = "auto";
  int jobs_at_once = 1;
  std::string runs() const { return output + "/runs"; }
  std::string test() const { return output + "/test"; }
};

/// The runs of the last stage, by folder name, that take no part because their training stopped
/// with a loss that is not finite.
StatusOr<std::set<std::string>> MakePlannedRuns(const StudyPlan& plan,
                                                const PlannedStudyOptions& options,
                                                const VerbContext& context);

}  // namespace interlacer::cli
