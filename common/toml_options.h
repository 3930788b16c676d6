#pragma once

/// Options from the text of a configuration file in TOML.
///
/// A value is a text, a number, a boolean or an array of these. What a command line has no use for
/// is refused: dates, arrays of tables, arrays of arrays.
/// Errors: INVALID_ARGUMENT CONFIG_INVALID, "line 3: ...". Pure, thread-safe.

#include <string>
#include <string_view>
#include <vector>

#include "common/status.h"

namespace interlacer {

struct TomlOption {
  std::vector<std::string> parents;  ///< names of the tables that it is in, from the outermost
  std::string name;
  std::vector<std::string> values;  ///< one, or those of an array, which may be none
};

/// By table, and in a table by name.
StatusOr<std::vector<TomlOption>> ParseTomlOptions(std::string_view text);

}  // namespace interlacer
