#pragma once

/// The unit of the integers that depths in metres become.
///
/// The user's, which must hold the deepest measurement; else 0.1 mm where that does, else 1 mm.
/// Deeper ones than 65.534 m are then no measurement, and counted (DEPTH_BEYOND_UNIT). Where they
/// are most, the numbers are hardly metres. Errors: ARGUMENT_INVALID, DEPTH_RANGE_INVALID. Pure.

#include <optional>
#include <string>
#include <vector>

#include "common/metre_depths.h"
#include "common/scene.h"
#include "common/status.h"

namespace interlacer {

/// `field` names the source in errors and findings.
StatusOr<double> UnitOfMetres(const MetreDepths& depths, std::optional<double> given_m,
                              const std::string& field, std::vector<Finding>* findings);

}  // namespace interlacer
