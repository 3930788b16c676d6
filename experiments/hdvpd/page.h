#pragma once

/// The HTML report of a comparison of variants: verdict, curves beside the published ones,
/// relations, frames, geometry, tasks, training, how it was computed. Reads the pictures that the
/// evaluation kept; a missing one leaves its place empty. The page follows evaluation/html.h.

#include <string>
#include <vector>

#include "experiments/hdvpd/relations.h"
#include "experiments/hdvpd/study.h"

namespace interlacer {

struct StudyPageInput {
  const Study* study = nullptr;
  std::vector<Relation> relations;
  std::string command;
  std::string created_time;
};

std::string StudyPageHtml(const StudyPageInput& input);

}  // namespace interlacer
