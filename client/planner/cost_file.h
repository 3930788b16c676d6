#pragma once

/// Costs of a planner as a JSON file, `interlacer.cost` version 1:
///
///   {"schema": "interlacer.cost", "schema_version": 1, "terms": [
///     {"type": "object_to_point", "weight": 1.0, "region_min_m": [x, y, z],
///      "region_max_m": [x, y, z], "target_m": [x, y, z]}]}
///
/// Types and their own keys: object_to_point (target_m), object_to_box and keep_out (box_min_m,
/// box_max_m), goal_cloud (points, a file), keep_still, uncertainty, smooth_action, small_action.
/// Every term may have weight (1) and bound (client/planner/cost_terms.h), those of particles a
/// region. Metres. Errors: SCHEMA_INVALID naming the field; unknown keys are errors; those of
/// `read_points` at the field. Thread-safe.

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "client/planner/cost_terms.h"
#include "common/status.h"

namespace interlacer {

/// Reads the points [n,3] of a goal from a file, metres, world frame.
using PointReader = std::function<StatusOr<std::vector<float>>(const std::string& path)>;

struct CostFile {
  std::vector<CostTerm> terms;
  /// Whether some term looks at all steps (keep_out), not at the first and the last alone.
  bool needs_all_steps = false;
};

StatusOr<CostFile> ParseCosts(const nlohmann::json& document, const PointReader& read_points);

}  // namespace interlacer
