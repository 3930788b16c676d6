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
///   OUTPUT/repeated.json  run and choices of a folder in which one run is repeated
///
/// One run of a study that is over can be repeated, by the choices.json of that study: without a
/// search, with the one appearance that it begins with.
///
/// Errors: INTERNAL for a child that fails, naming its log; FAILED_PRECONDITION CONFIG_INVALID for
/// another plan, CHECKPOINT_INVALID for a run that began with other weights than the run before it
/// now has and for other weights than the frozen ones, OUTPUT_EXISTS for test episodes before that
/// and for a folder in which something else was begun; INVALID_ARGUMENT CONFIG_INVALID for choices
/// that are not of this plan; CANCELLED on a stop. One call at a time for a folder.

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
  std::string repeated_run;  ///< <variant>-<seed>, which is in the plan, or empty for all
  std::string choices_path;  ///< of the study whose run is repeated
  std::string runs() const { return output + "/runs"; }
  std::string test() const { return output + "/test"; }
};

/// What is scored of a plan of which one run, <variant>-<seed>, is repeated. ARGUMENT_INVALID for
/// one that is not in it.
Status KeepOneRun(const std::string& run, StudyPlan* plan);

/// The runs of the last stage, by folder name, that take no part because their training stopped
/// with a loss that is not finite.
StatusOr<std::set<std::string>> MakePlannedRuns(const StudyPlan& plan,
                                                const PlannedStudyOptions& options,
                                                const VerbContext& context);

}  // namespace interlacer::cli
