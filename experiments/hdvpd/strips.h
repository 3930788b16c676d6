#pragma once

/// Frame strips of a comparison: the truth, each variant's prediction and how far it is off, step
/// by step. Pure apart from reading the pictures that the evaluation kept and the embedder's
/// budget.

#include <string>

#include "evaluation/html.h"
#include "experiments/hdvpd/study.h"

namespace interlacer {

/// One strip for each episode with pictures; empty without any.
std::string StudyStripsHtml(const Study& study, ImageEmbedder* images);

}  // namespace interlacer
