#include "server/server_options.h"

#include <algorithm>
#include <cstddef>

namespace interlacer {

bool IsLoopback(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && std::all_of(host.begin(), host.end(), [](char c) {
           return c == '.' || (c >= '0' && c <= '9');
         });
}

Status CheckAddressForm(const std::string& address) {
  // The system's own reading of ports takes 70000 for 4464.
  constexpr std::size_t kMaxDigits = 5;
  constexpr int kMaxPort = 65535;
  const bool is_unix = address.starts_with("unix:") || address.starts_with("unix-abstract:");
  const std::size_t colon = is_unix ? address.find(':') : address.rfind(':');
  const std::string rest = colon == std::string::npos ? "" : address.substr(colon + 1);
  const bool is_port = !rest.empty() && rest.size() <= kMaxDigits &&
                       rest.find_first_not_of("0123456789") == std::string::npos &&
                       std::stoi(rest) <= kMaxPort;
  if (is_unix ? !rest.empty() : is_port && colon > 0) return Status::Ok();
  return Mismatch(
      reason::CONFIG_INVALID, "address",
      "HOST:PORT, [IPv6]:PORT, unix:PATH or unix-abstract:NAME with a port of 0 to 65535", address);
}

Status CheckAddress(const ServerOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckAddressForm(options.address));
  if (options.insecure || options.tls.is_set() || IsLoopback(options.address)) return Status::Ok();
  return InvalidArgument(reason::CONFIG_INVALID,
                         "address " + options.address +
                             " is not loopback; that needs --tls-cert, --tls-key and "
                             "--tls-client-ca, or --insecure")
      .WithField("address");
}

}  // namespace interlacer
