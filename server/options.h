#pragma once

/// Options of the server program: flag > environment INTERLACER_... > TOML file (--config) >
/// default. The only door of CLI11 in server/.
///
/// Unknown flags, keys and INTERLACER_ variables are errors. Errors: INVALID_ARGUMENT
/// CONFIG_INVALID naming the option. Thread-safe.

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/server_options.h"

namespace interlacer {

struct ParsedServerOptions {
  ServerOptions options;
  /// Set when there is nothing to serve: the text of --help, --print-config, --check-config.
  bool is_done = false;
  std::string text;
};

/// `arguments` without the program's name; `environment` holds all variables.
StatusOr<ParsedServerOptions> ParseServerOptions(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& environment);

}  // namespace interlacer
