#pragma once

/// The HTML report of a comparison of variants: verdict, curves beside the published ones,
/// relations, frames, geometry, tasks, training, how it was computed. Reads the pictures that the
/// evaluation kept; a missing one leaves its place empty. The page follows evaluation/html.h.

#include <string>
#include <vector>

#include "experiments/hdvpd/plan.h"
#include "experiments/hdvpd/relations.h"
#include "experiments/hdvpd/study.h"
#include "experiments/hdvpd/verdicts.h"

namespace interlacer {

struct StudyPageInput {
  const Study* study = nullptr;
  std::vector<Relation> relations;  ///< of runs without a plan
  std::string command;
  std::string created_time;
  // Of a planned study.
  const StudyPlan* plan = nullptr;
  std::vector<Claim> claims = {};
  std::string cells_dir = {};
  std::vector<std::string> left_out = {};  ///< runs that took no part
};

std::string StudyPageHtml(const StudyPageInput& input);

}  // namespace interlacer
