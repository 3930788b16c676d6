#pragma once

/// Definitions of the metrics of view_scores.h with all parameters, so that a number can be
/// computed again elsewhere and two files that mean different things by one name can be told apart.
/// Pure functions, thread-safe.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace interlacer {

/// Definitions by name of the metric.
nlohmann::ordered_json MetricDefinitions();
/// Section of a page: the definition of each of these metrics by its name in files, folded.
/// `definitions` are those that the numbers were computed by.
std::string MetricDefinitionsHtml(const std::vector<std::string>& metrics,
                                  const nlohmann::ordered_json& definitions);

}  // namespace interlacer
