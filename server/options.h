#pragma once

/// Options of the server program: flag > environment INTERLACER_SERVER_<FLAG> > TOML file
/// (--config) > default. The only door of CLI11 in server/.
///
/// Unknown flags and keys are errors, and so are variables INTERLACER_SERVER_... that are no
/// flag's, save those of the forms *_PORT, *_PORT_* and *_SERVICE_*: Kubernetes injects such for a
/// service named interlacer-server. No flag has a variable of these forms; if one had, it would be
/// the flag's, and a value that does not parse an error. All other variables are nobody's business
/// here. Errors: INVALID_ARGUMENT CONFIG_INVALID naming the option. Thread-safe.

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
