#pragma once

/// Checks which relations between the variants of the published comparison hold for ours.
///
/// A relation is reproduced, not reproduced, or not testable here because its runs or episodes are
/// not there or because it is about another size of model. Step k of a figure is rollout step
/// k + 1. Pure functions of the study.
/// Source: grf-masking, Fig. 5 and App. C.3.

#include <string>
#include <string_view>
#include <vector>

#include "experiments/hdvpd/study.h"

namespace interlacer {

enum class Outcome { kReproduced, kNotReproduced, kNotTestable };
/// "reproduced", "not reproduced", "not testable here".
std::string_view OutcomeText(Outcome outcome);

struct Relation {
  std::string id;
  std::string text;
  Outcome outcome = Outcome::kNotTestable;
  std::string numbers;
};

std::vector<Relation> CheckRelations(const Study& study);

/// Median over the seeds of a variant; 0 without a log.
double TrainingStepsPerS(const Study& study, std::string_view variant);

}  // namespace interlacer
