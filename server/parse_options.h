#pragma once

/// Options of the server program: flag > environment INTERLACER_SERVER_<FLAG> > TOML file
/// (--config) > default. The only user of CLI11 in server/.
///
/// Unknown flags and keys are errors, and so are variables INTERLACER_SERVER_... without a flag,
/// except those of the forms *_PORT, *_PORT_* and *_SERVICE_*, which Kubernetes injects for a
/// service named interlacer-server. No flag has a variable of these forms; if one had, the variable
/// would set the flag, and a value that does not parse would be an error. All other variables are
/// ignored. Errors: INVALID_ARGUMENT CONFIG_INVALID naming the option. Thread-safe.

#include <map>
#include <string>
#include <vector>

#include "common/status.h"
#include "server/server_options.h"

namespace interlacer {

struct ParsedServerOptions {
  ServerOptions options;
  /// Set when the program should print its text and stop: --help, --print-config, --check-config.
  bool is_done = false;
  std::string text;
};

/// `arguments` are without the program's name; `environment` holds all variables.
StatusOr<ParsedServerOptions> ParseServerOptions(
    const std::vector<std::string>& arguments,
    const std::map<std::string, std::string>& environment);

}  // namespace interlacer
