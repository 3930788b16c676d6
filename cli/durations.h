#pragma once

/// Durations on the command line: "30", "30s", "500ms" or "2min" become seconds.

#include <CLI/CLI.hpp>
#include <map>
#include <string>

namespace interlacer::cli {

inline CLI::Validator AsSeconds() {
  return CLI::AsNumberWithUnit(std::map<std::string, double>{{"ms", 0.001}, {"s", 1}, {"min", 60}},
                               CLI::AsNumberWithUnit::UNIT_OPTIONAL, "SECONDS");
}

}  // namespace interlacer::cli
