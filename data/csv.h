#pragma once

/// Reads and writes tables of numbers as text: one header line of names, then rows of finite
/// numbers, commas between.
///
/// Tables that spreadsheets and numpy have written are read too: semicolons, tabs or blanks between
/// where the header has no comma, quotes around names, `#` before the header, comments of `#` above
/// it, a mark of UTF-8, lines ending in CR LF or CR. Decimal commas and UTF-16 are named and
/// refused. Errors: INVALID_ARGUMENT SCHEMA_INVALID with the line number; NOT_FINITE; ACTION_SHAPE
/// for names. Pure, thread-safe.

#include <span>
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

/// The table with the columns of `names` in their order. The header may have another order and may
/// leave the unit at the end of a name out ("elbow" for "elbow_rad"); each of `names` must be there
/// once and no other.
StatusOr<NumberTable> TakeColumns(const CsvTable& csv, std::span<const std::string> names);
/// 17 significant digits: reading gives the same bits.
std::string FormatCsv(const CsvTable& table);

}  // namespace interlacer
