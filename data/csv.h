#pragma once

/// Reads and writes tables of numbers as text: one header line of names, then rows of finite
/// numbers, commas between.
///
/// Errors: INVALID_ARGUMENT SCHEMA_INVALID with the line number; NOT_FINITE. Pure, thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"
#include "data/episode.h"

namespace interlacer {

struct CsvTable {
  std::vector<std::string> column_names;
  NumberTable table;
};

StatusOr<CsvTable> ParseCsv(std::string_view text);
/// 17 significant digits: reading gives the same bits.
std::string FormatCsv(const CsvTable& table);

}  // namespace interlacer
