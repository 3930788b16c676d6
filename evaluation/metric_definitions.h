#pragma once

/// Definitions of the metrics of view_scores.h with all parameters, so that a number can be
/// computed again elsewhere and two files that mean different things by one name can be told apart.
/// Pure function, thread-safe.

#include <nlohmann/json_fwd.hpp>

namespace interlacer {

/// Definitions by name of the metric.
nlohmann::ordered_json MetricDefinitions();

}  // namespace interlacer
