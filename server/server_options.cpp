#include "server/server_options.h"

#include <algorithm>

#include "common/address.h"

namespace interlacer {

bool IsLoopback(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && std::all_of(host.begin(), host.end(), [](char c) {
           return c == '.' || (c >= '0' && c <= '9');
         });
}

Status CheckAddresses(const ServerOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckListenAddress(options.address));
  const std::string& metrics = options.metrics_address;
  if (!metrics.empty() && !IsPort(metrics) && !IsHostAndPort(metrics)) {
    return Mismatch(reason::CONFIG_INVALID, "metrics_address", "PORT or HOST:PORT", metrics);
  }
  if (options.insecure || options.tls.is_set() || IsLoopback(options.address)) return Status::Ok();
  return InvalidArgument(reason::CONFIG_INVALID,
                         "address " + options.address +
                             " is not loopback; that needs --tls-cert, --tls-key and "
                             "--tls-client-ca, or --insecure")
      .WithField("address");
}

}  // namespace interlacer
