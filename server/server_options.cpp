#include "server/server_options.h"

#include <sys/un.h>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace interlacer {

bool IsLoopback(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && std::all_of(host.begin(), host.end(), [](char c) {
           return c == '.' || (c >= '0' && c <= '9');
         });
}

namespace {

bool IsPort(std::string_view text) {
  // The system's own reading of ports takes 70000 for 4464.
  constexpr std::size_t kMaxDigits = 5;
  constexpr int kMaxPort = 65535;
  return !text.empty() && text.size() <= kMaxDigits &&
         text.find_first_not_of("0123456789") == std::string_view::npos &&
         std::stoi(std::string(text)) <= kMaxPort;
}

bool IsHostAndPort(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  return colon != std::string_view::npos && colon > 0 && IsPort(text.substr(colon + 1));
}

}  // namespace

Status CheckAddressForm(const std::string& address) {
  constexpr std::size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
  for (const std::string_view scheme : {"unix:", "unix-abstract:"}) {
    if (!address.starts_with(scheme)) continue;
    const std::size_t length = address.size() - scheme.size();
    if (length > 0 && length <= kMaxPathBytes) return Status::Ok();
    return Mismatch(reason::CONFIG_INVALID, "address",
                    "a path of 1 to " + std::to_string(kMaxPathBytes) + " bytes", address);
  }
  if (IsHostAndPort(address)) return Status::Ok();
  return Mismatch(
      reason::CONFIG_INVALID, "address",
      "HOST:PORT, [IPv6]:PORT, unix:PATH or unix-abstract:NAME with a port of 0 to 65535", address);
}

Status CheckAddresses(const ServerOptions& options) {
  INTERLACER_RETURN_IF_ERROR(CheckAddressForm(options.address));
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
