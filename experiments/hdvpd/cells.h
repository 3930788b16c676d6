#pragma once

/// The cells of a planned study: every run of `interlacer train` that its plan asks for, and what
/// the search chose. A cell is a function of plan and choices alone, so that a study goes on
/// wherever it was interrupted. Folders, below that of all runs:
///
///   appearance/SEED        encoder and radiance field, shared by all variants
///   search/VARIANT-M-R     model M and learning rate R of the plan's lists, at the search's seed
///   STAGE/VARIANT-SEED     from the appearance, or from the stage before
///
/// Pure functions; ReadCell reads a folder. Threads: free functions.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "experiments/hdvpd/plan.h"

namespace interlacer {

struct Cell {
  std::string name;                     ///< its folder
  std::int64_t seed = 0;                ///< of the run
  nlohmann::json config;                ///< of `interlacer train --config`
  std::string init;                     ///< cell whose weights it begins with, or empty
  bool takes_appearance_alone = false;  ///< of `init`
};

/// What a variant is trained with.
struct Choice {
  std::size_t model = 0;
  double learning_rate = 0;
};

std::vector<Cell> AppearanceCells(const StudyPlan& plan);
/// Of one variant: models in order, for each the learning rates in order.
std::vector<Cell> TrialCells(const StudyPlan& plan, const PlannedVariant& variant);
/// Of one variant in one stage, by seed.
std::vector<Cell> StageCells(const StudyPlan& plan, const PlannedVariant& variant,
                             std::size_t stage, const Choice& choice);

struct LoggedLoss {
  std::int64_t step = 0;
  double loss = 0;  ///< what training minimises; infinite where it was not finite
};

/// How far a cell, or any run of `interlacer train`, has come, by its log.
struct CellState {
  bool has_ended = false;
  bool is_flat = false;    ///< ended by the stopping rule, before its last update
  std::int64_t steps = 0;  ///< of the last line
  std::vector<LoggedLoss> validations;
  /// Median CPU time of an update in the second half of the log, which start-up and earlier parts
  /// of a schedule do not touch; 0 without one.
  double step_s = 0;
};
CellState ReadCell(const std::string& dir);

/// The trial with the lowest finite loss, the first of equal ones; nothing where there is none.
std::optional<std::size_t> ChooseTrial(std::span<const std::optional<double>> losses);
/// The last validation loss of each of a variant's trials that ended, below the folder of all
/// cells.
std::vector<std::optional<double>> TrialLosses(const StudyPlan& plan, const PlannedVariant& variant,
                                               const std::string& runs_dir);
/// The choice that trial `index` of TrialCells stands for.
Choice ChoiceOf(const StudyPlan& plan, std::size_t index);

}  // namespace interlacer
