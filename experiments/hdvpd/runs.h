#pragma once

/// The trained runs of a comparison of variants: RUNS/<variant>-<seed>, each as `interlacer train`
/// leaves it.
///
/// A run must be what its folder says, kind and seed, and all runs must have one configuration but
/// for the local layer and its sizes, one training schedule but for the learning rate, run to its
/// end by what the weights and its own stopping rule say, and the same data (by inputs.json, which
/// runs of early versions lack). A run has diverged when its last validation loss is not finite or
/// more than twice the median of its variant (three runs or more). Errors: NOT_FOUND FILE_NOT_FOUND
/// naming the folder and the command that makes it; INVALID_ARGUMENT CONFIG_INVALID,
/// ARGUMENT_INVALID for a variant or seed given twice; FAILED_PRECONDITION CHECKPOINT_INVALID for
/// an unfinished run; those of common/json.h.

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "common/json.h"
#include "common/status.h"
#include "experiments/hdvpd/cells.h"
#include "experiments/hdvpd/plan.h"

namespace interlacer {

struct TrainedRun {
  std::string variant;
  std::int64_t seed = 0;
  std::string dir;
  std::string weights_sha256;
  std::string config_sha256;
  nlohmann::json config;                               ///< of the checkpoint
  nlohmann::json inputs;                               ///< data and first weights; null if unknown
  nlohmann::json training = nlohmann::json::object();  ///< of the run
  std::int64_t steps_done = 0;                         ///< by the weights; 0 if they are damaged
  double step_s = 0;                                   ///< of CellState
  std::vector<LoggedLoss> validations;
  /// Ended by its stopping rule, or has none; of a planned study in every stage.
  bool is_flat = false;
  std::vector<CellState> earlier_stages;  ///< of a planned study, in its order
  bool has_diverged = false;

  std::string name() const { return variant + "-" + std::to_string(seed); }
  std::string checkpoint_dir() const { return dir + "/checkpoint"; }
  std::optional<double> LastValidationLoss() const;
  /// Of all stages.
  std::int64_t UpdateCount() const;
  /// Of the stages before the last one, by the median CPU time of an update of each.
  double EarlierCpuSeconds() const;
};

/// The whole configuration of a variant's model, with what errors call it.
struct VariantModel {
  std::string place, variant;
  nlohmann::json config;
};
/// Refuses a model that is no such variant, and one that differs from `reference` in more than what
/// a variant may change.
Status CheckVariantModel(const VariantModel& model, const VariantModel& reference);

/// By variant, then by seed, in the order given, without the runs named in `left_out`.
StatusOr<std::vector<TrainedRun>> ReadTrainedRuns(const std::string& runs_dir,
                                                  const std::vector<std::string>& variants,
                                                  const std::vector<std::int64_t>& seeds,
                                                  const std::set<std::string>& left_out = {});

/// Reads the logs of a planned run's stages before the last one; a run is flat when all its stages
/// are, and those without a stopping rule count as flat.
void AddEarlierStages(const StudyPlan& plan, const std::string& cells_dir, TrainedRun* run);

}  // namespace interlacer
