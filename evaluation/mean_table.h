#pragma once

/// Means and intervals by step as a table: one row a step that has a value, one column a variant.
/// Cells say over how many episodes where that is not the same in all of them. Pure functions,
/// thread-safe.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "evaluation/html.h"
#include "evaluation/statistics.h"

namespace interlacer {

/// By step, a mean for each column.
using MeansByStep = std::map<int, std::vector<std::optional<MeanEstimate>>>;

/// `heading` stands before what the cells are; without rows there is no value.
HtmlTable MeanTable(const std::string& heading, std::vector<std::string> columns,
                    const MeansByStep& means, int decimals);

}  // namespace interlacer
