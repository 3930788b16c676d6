#pragma once

/// Trains the networks of a plan, one run for each and every seed, and holds their results.
///
/// Runs lie in OUTPUT/runs/NAME-SEED; what is finished there is kept and what was stopped goes on.
/// Errors: those of MotifSet::Make and Learn with the run's name before the field; CANCELLED when
/// stopped. One call at a time.

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "common/json.h"
#include "evaluation/statistics.h"
#include "experiments/learning/plan.h"
#include "experiments/verdict.h"
#include "model/learning/learner.h"

namespace interlacer {

/// Results of one network, a run for every seed of the plan.
struct NetworkRuns {
  std::string name;
  std::optional<double> published;
  std::vector<LearningResult> runs;
};

struct LearningStudy {
  LearningPlan plan;
  std::vector<NetworkRuns> networks;
  std::vector<LearningScore> trivial;  ///< for every seed
  std::string command;
  std::string created_time;
};

struct StudyProgress {
  std::stop_token stop;
  /// `run`: the number of the run, from 0, and its name.
  std::function<void(std::int64_t run, const std::string& name, const EpochRecord& epoch)>
      on_epoch = [](std::int64_t, const std::string&, const EpochRecord&) {};
};

StatusOr<LearningStudy> RunLearningStudy(const LearningPlan& plan, const std::string& output_dir,
                                         const StudyProgress& progress);

/// The mean with Student's 95 % interval over seeds; the bootstrap is too narrow for a handful.
MeanEstimate OverSeeds(const std::vector<double>& values);

/// Paired by seed: the verdict is by the interval over seeds of the difference, above or below 0.
struct LearningClaim {
  std::string better, other;
  MeanEstimate difference;  ///< of test accuracies
  Verdict verdict = Verdict::kUndecided;
};
std::vector<LearningClaim> CheckClaims(const LearningStudy& study);

}  // namespace interlacer
