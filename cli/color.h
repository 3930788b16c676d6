#pragma once

/// Decides by `--color`, NO_COLOR and TERM whether messages are coloured. Pure, thread-safe.

#include <string>

namespace interlacer::cli {

struct ColorCircumstances {
  bool is_terminal = false;
  std::string no_color;  ///< value of NO_COLOR; any text forbids colour (no-color.org)
  std::string term;      ///< value of TERM
};

/// `mode` is "auto", "always" or "never"; "always" and "never" override the environment.
bool IsColorWanted(const std::string& mode, const ColorCircumstances& circumstances);

/// "error:" or the like, bold and red where `is_colored`.
std::string Alarming(const std::string& text, bool is_colored);

}  // namespace interlacer::cli
