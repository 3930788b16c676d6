#pragma once

/// The plan of a study of local layers: which data, variants, search trials, runs and scores there
/// are. The command reads it and nothing else, so that the file is the protocol
/// (docs/study.md).
///
/// JSON; `model` and the models of a variant are patches of a model's configuration
/// (model/config.h), `training` and its patches settings of a run (model/training/
/// training_config.h). `interlacer train` checks what they hold. Errors: those of common/json.h,
/// SCHEMA_INVALID naming the field. Value types.

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "client/rollout_backend.h"
#include "common/json.h"
#include "common/status.h"
#include "evaluation/view_scores.h"

namespace interlacer {

/// Episodes of one split: seeds `first_seed`, ... in a row.
struct PlannedEpisodes {
  std::uint64_t first_seed = 0;
  int count = 0;
};

/// A stage of training of every run, after the appearance and from the weights of the stage before.
struct PlannedStage {
  std::string name;
  double learning_rate_share = 1;  ///< of the rate that the search chose
  nlohmann::json training;
};

struct PlannedVariant {
  std::string name;
  std::vector<nlohmann::json> models;  ///< the sizes among which the search chooses
};

/// The metrics of a study's claims; one of them is the primary one.
inline constexpr std::array kClaimMetrics{kSsim, kSsimMoving, kSsimObjects, kL2Moved};

struct StudyPlan {
  std::string name;
  std::vector<std::string> simulate_options;  ///< of all episodes: task, steps, size
  PlannedEpisodes train, val, test;
  nlohmann::json model, training, appearance;
  std::vector<PlannedStage> stages;
  std::int64_t search_seed = 0;
  std::int64_t search_step_count = 0;
  std::vector<double> learning_rates;
  std::vector<std::int64_t> seeds;
  std::vector<PlannedVariant> variants;  ///< the first is compared with each of the others
  RenderMode render_mode = RenderMode::kField;
  int rollout_steps = 8;
  int window_count = 1;
  std::string primary_metric;

  std::vector<std::string> VariantNames() const;
};

StatusOr<StudyPlan> ParseStudyPlan(const nlohmann::json& document);
StatusOr<StudyPlan> ReadStudyPlan(const std::string& path);

}  // namespace interlacer
