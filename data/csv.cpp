#include "data/csv.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace interlacer {
namespace {

std::vector<std::string_view> SplitLine(std::string_view line) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    std::string_view cell = line.substr(0, comma);
    while (!cell.empty() && cell.front() == ' ') cell.remove_prefix(1);
    while (!cell.empty() && cell.back() == ' ') cell.remove_suffix(1);
    cells.push_back(cell);
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

StatusOr<double> ParseNumber(std::string_view cell, const std::string& field) {
  double value = 0;
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), value);
  if (error != std::errc() || end != cell.data() + cell.size()) {
    return Mismatch(reason::SCHEMA_INVALID, field, "a number", std::string(cell.substr(0, 40)));
  }
  if (!std::isfinite(value)) {
    return Mismatch(reason::NOT_FINITE, field, "a finite number", std::string(cell));
  }
  return value;
}

}  // namespace

StatusOr<CsvTable> ParseCsv(std::string_view text) {
  CsvTable csv;
  for (int line_number = 1; !text.empty(); ++line_number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty()) continue;
    const std::vector<std::string_view> cells = SplitLine(line);
    if (csv.column_names.empty()) {
      csv.column_names.assign(cells.begin(), cells.end());
      csv.table.column_count = static_cast<std::int64_t>(cells.size());
      continue;
    }
    const std::string field = "line " + std::to_string(line_number);
    if (cells.size() != csv.column_names.size()) {
      return Mismatch(reason::SCHEMA_INVALID, field,
                      std::to_string(csv.column_names.size()) + " cells",
                      std::to_string(cells.size()));
    }
    for (std::string_view cell : cells) {
      INTERLACER_ASSIGN_OR_RETURN(const double value, ParseNumber(cell, field));
      csv.table.values.push_back(value);
    }
    ++csv.table.row_count;
  }
  if (csv.column_names.empty()) {
    return Mismatch(reason::SCHEMA_INVALID, "line 1", "a header line", "an empty file");
  }
  return csv;
}

std::string FormatCsv(const CsvTable& csv) {
  std::string text;
  for (std::size_t i = 0; i < csv.column_names.size(); ++i) {
    text += (i == 0 ? "" : ",") + csv.column_names[i];
  }
  text += '\n';
  char number[40];
  for (std::int64_t i = 0; i < csv.table.row_count * csv.table.column_count; ++i) {
    std::snprintf(number, sizeof(number), "%.17g", csv.table.values[static_cast<std::size_t>(i)]);
    text += number;
    text += (i + 1) % csv.table.column_count == 0 ? '\n' : ',';
  }
  return text;
}

}  // namespace interlacer
