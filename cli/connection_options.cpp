#include "cli/connection_options.h"

#include <CLI/CLI.hpp>

#include "cli/durations.h"

namespace interlacer::cli {

void AddConnectionOptions(CLI::App* verb, ConnectionOptions* connection) {
  TlsFiles& tls = connection->tls;
  verb->add_option("--deadline", connection->deadline_s,
                   "Time for one call to a server, such as 60s")
      ->capture_default_str()
      ->transform(AsSeconds());
  CLI::Option* authority =
      verb->add_option("--tls-ca", tls.authority, "Speak TLS; PEM file of the server's authority");
  CLI::Option* certificate = verb->add_option("--tls-cert", tls.certificate,
                                              "PEM file of the certificate that names this client");
  CLI::Option* key = verb->add_option("--tls-key", tls.key, "PEM file of its private key");
  certificate->needs(authority)->needs(key);
  key->needs(certificate);
}

ClientOptions ToClientOptions(const std::string& address, const ConnectionOptions& connection) {
  ClientOptions options{.address = address, .retry = false};
  if (!connection.tls.authority.empty()) options.tls = connection.tls;
  return options;
}

}  // namespace interlacer::cli
