#pragma once

/// What training took in a planned study: the search's trials, and seconds to equal quality.
/// SearchHtml reads the logs of the trials (cells.h); all else is pure.

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "experiments/hdvpd/plan.h"
#include "experiments/hdvpd/study.h"

namespace interlacer {

/// The step of the first validation at or below the target; nothing if there is none.
std::optional<std::int64_t> StepToReach(std::span<const LoggedLoss> validations, double target);

/// The worst of the variants' final validation losses, each the median over its runs.
std::optional<double> EqualQuality(const Study& study);

/// All trials with their losses; the chosen ones are marked.
std::string SearchHtml(const StudyPlan& plan, const std::string& cells_dir);
/// A row a variant, medians over its runs: updates and seconds of all stages to the end, and to
/// EqualQuality in the last one, which a run that does not reach it takes for ever. Appearance,
/// which all share, takes no part.
std::string TrainingCostHtml(const Study& study);

}  // namespace interlacer
