#pragma once

/// Options from the text of a configuration file: the part of TOML that a command line needs.
///
/// Read are comments, [sections], bare, quoted and dotted keys, and values: strings of one line,
/// numbers, booleans, and arrays of these over any number of lines. Words without quotes are taken
/// as text. Whatever else is refused: a key that is set twice, text behind a value, tables in
/// brackets of two kinds, strings of several lines.
/// Errors: INVALID_ARGUMENT CONFIG_INVALID, "line 3: expected ..., got ...". Pure, thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct TomlOption {
  /// Of the section, then of a dotted key.
  std::vector<std::string> parents;
  std::string name;
  /// One, or those of an array, which may be none.
  std::vector<std::string> values;
};

/// In the order of the text.
StatusOr<std::vector<TomlOption>> ParseTomlOptions(std::string_view text);

}  // namespace interlacer
