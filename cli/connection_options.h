#pragma once

/// How a verb talks to a server: `--deadline`, and TLS by `--tls-ca`, `--tls-cert` and `--tls-key`.

#include <string>

#include "client/interlacer_client.h"

namespace CLI {
class App;
}

namespace interlacer::cli {

struct ConnectionOptions {
  double deadline_s = 0;
  /// Without an authority the connection is not encrypted.
  TlsFiles tls{};
};

/// `connection` outlives `verb`; its deadline is the default.
void AddConnectionOptions(CLI::App* verb, ConnectionOptions* connection);

/// Calls are not repeated unless the caller changes that.
ClientOptions ToClientOptions(const std::string& address, const ConnectionOptions& connection);

}  // namespace interlacer::cli
