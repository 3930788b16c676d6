#pragma once

/// Formats findings and the report of a validation as JSON and as lines for people. Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "common/scene.h"
#include "data/dataset_coverage.h"
#include "data/validate.h"

namespace interlacer::cli {

/// A line a finding.
std::string FindingsText(const std::vector<Finding>& findings);

nlohmann::ordered_json ToJson(const ValidationReport& report);
std::string ValidationText(const ValidationReport& report);

/// Of a data set as a whole.
nlohmann::ordered_json ToJson(const DatasetCoverage& coverage);
std::string CoverageText(const DatasetCoverage& coverage);

}  // namespace interlacer::cli
