#pragma once

/// Formats the report of a validation as JSON and as lines for people. Pure functions.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "data/dataset_coverage.h"
#include "data/validate.h"

namespace interlacer::cli {

nlohmann::ordered_json ToJson(const ValidationReport& report);
std::string ValidationText(const ValidationReport& report);

/// Of a data set as a whole.
nlohmann::ordered_json ToJson(const DatasetCoverage& coverage);
std::string CoverageText(const DatasetCoverage& coverage);

}  // namespace interlacer::cli
