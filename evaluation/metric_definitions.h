#pragma once

/// What each metric of view_scores.h is, with all parameters, so that a number can be computed
/// again elsewhere and two files can be told apart that mean different things by one name. Pure
/// function, thread-safe.

#include <nlohmann/json_fwd.hpp>

namespace interlacer {

/// By name.
nlohmann::ordered_json MetricDefinitions();

}  // namespace interlacer
