#include "data/csv.h"

#include <charconv>
#include <cmath>
#include <cstdio>

#include "data/number_lines.h"

namespace interlacer {
namespace {

/// What separates the cells, by the header: names have none of these.
char SeparatorOf(std::string_view header) {
  for (const char separator : {',', ';', '\t'}) {
    if (header.find(separator) != std::string_view::npos) return separator;
  }
  return ' ';
}

std::vector<std::string_view> SplitCells(std::string_view line, char separator) {
  std::vector<std::string_view> cells;
  for (;;) {
    const std::size_t end = line.find(separator);
    cells.push_back(Trimmed(line.substr(0, end), " \t\""));
    if (end == std::string_view::npos) return cells;
    line.remove_prefix(separator == ' ' ? line.find_first_not_of(separator, end) : end + 1);
  }
}

StatusOr<double> ParseCell(std::string_view cell, const std::string& field) {
  double value = 0;
  const std::string_view digits = cell.substr(cell.starts_with('+') ? 1 : 0);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size()) {
    return Mismatch(reason::SCHEMA_INVALID, field, "a number with a decimal point",
                    cell.empty() ? "an empty cell" : std::string(cell.substr(0, 40)));
  }
  if (!std::isfinite(value)) {
    return Mismatch(reason::NOT_FINITE, field, "a finite number", std::string(cell));
  }
  return value;
}

std::string_view WithoutUnit(std::string_view name) {
  for (const std::string_view unit : {"_rad", "_m"}) {
    if (name.ends_with(unit)) return name.substr(0, name.size() - unit.size());
  }
  return name;
}

/// The index of the column that a header's name means, or -1.
int FindName(std::span<const std::string> names, const std::string& name) {
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (name == names[i] || name == WithoutUnit(names[i])) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string Joined(std::span<const std::string> names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "" : ", ") + name;
  return list;
}

bool BeginsWithNumber(std::string_view line) {
  return ParseCell(Trimmed(line.substr(0, line.find_first_of(",; \t")), " \t\""), "").ok();
}

/// The line of the names: the first that is no comment, or the comment before the numbers; none of
/// an empty file.
std::size_t HeaderLine(const std::vector<TextLine>& lines) {
  std::size_t first = 0;
  while (first < lines.size() && lines[first].text.front() == '#') ++first;
  const bool is_comment =
      first > 0 && (first == lines.size() || BeginsWithNumber(lines[first].text));
  return is_comment ? first - 1 : first;
}

}  // namespace

StatusOr<CsvTable> ParseCsv(std::string_view text) {
  INTERLACER_ASSIGN_OR_RETURN(const auto lines, SplitLines(text, "text"));
  if (lines.empty()) {
    return Mismatch(reason::SCHEMA_INVALID, "line 1", "a header line", "an empty file");
  }
  const std::size_t header_line = HeaderLine(lines);
  const std::string_view header = Trimmed(lines[header_line].text, "# ");
  const char separator = SeparatorOf(header);
  const auto names = SplitCells(header, separator);
  CsvTable csv;
  csv.column_names.assign(names.begin(), names.end());
  csv.table.column_count = static_cast<std::int64_t>(names.size());
  for (const TextLine& line : std::span(lines).subspan(header_line + 1)) {
    const std::string field = "line " + std::to_string(line.number);
    const std::vector<std::string_view> cells = SplitCells(line.text, separator);
    if (cells.size() != csv.column_names.size()) {
      return Mismatch(reason::SCHEMA_INVALID, field,
                      std::to_string(csv.column_names.size()) + " cells",
                      std::to_string(cells.size()));
    }
    for (std::string_view cell : cells) {
      INTERLACER_ASSIGN_OR_RETURN(const double value, ParseCell(cell, field));
      csv.table.values.push_back(value);
    }
    ++csv.table.row_count;
  }
  return csv;
}

StatusOr<NumberTable> TakeColumns(const CsvTable& csv, std::span<const std::string> names) {
  std::vector<int> source(names.size(), -1);
  for (std::size_t i = 0; i < csv.column_names.size(); ++i) {
    const std::string& name = csv.column_names[i];
    const int column = FindName(names, name);
    if (column < 0) {
      return Mismatch(reason::ACTION_SHAPE, "header",
                      "the columns " + Joined(names) + " in any order",
                      name.empty() ? "a column without a name, such as an index that pandas writes"
                                   : "'" + name.substr(0, 40) + "'");
    }
    if (source[column] >= 0) {
      return Mismatch(reason::ACTION_SHAPE, "header", "each column once", "'" + name + "' again");
    }
    source[column] = static_cast<int>(i);
  }
  for (std::size_t column = 0; column < names.size(); ++column) {
    if (source[column] >= 0) continue;
    return Mismatch(reason::ACTION_SHAPE, "header", "the columns " + Joined(names),
                    "no '" + names[column] + "'");
  }
  NumberTable table{csv.table.row_count, static_cast<std::int64_t>(names.size()), {}};
  for (std::int64_t row = 0; row < table.row_count; ++row) {
    for (const int column : source) {
      table.values.push_back(csv.table.values[row * table.column_count + column]);
    }
  }
  return table;
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
