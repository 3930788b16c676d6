#include "cli/color.h"

namespace interlacer::cli {

bool IsColorWanted(const std::string& mode, const ColorCircumstances& circumstances) {
  if (mode != "auto") return mode == "always";
  return circumstances.is_terminal && circumstances.no_color.empty() &&
         circumstances.term != "dumb";
}

std::string Alarming(const std::string& text, bool is_colored) {
  return is_colored ? "\033[1;31m" + text + "\033[0m" : text;
}

}  // namespace interlacer::cli
