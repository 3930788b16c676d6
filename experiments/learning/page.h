#pragma once

/// The outcome of a comparison of networks: a page with charts, JSON, CSV of all epochs and text.
/// Pure functions, thread-safe.

#include <string>

#include "experiments/learning/study.h"

namespace interlacer {

std::string LearningPageHtml(const LearningStudy& study);
nlohmann::ordered_json LearningToJson(const LearningStudy& study);
std::string EpochsToCsv(const LearningStudy& study);
std::string LearningText(const LearningStudy& study);

}  // namespace interlacer
