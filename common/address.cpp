#include "common/address.h"

#include <sys/un.h>

#include <optional>

namespace interlacer {
namespace {

constexpr std::size_t kMaxPathBytes = sizeof(sockaddr_un::sun_path) - 1;
constexpr char kForms[] = "HOST:PORT, [IPv6]:PORT, unix:PATH or unix-abstract:NAME";

bool IsHost(std::string_view host) {
  constexpr std::string_view kNotInHosts = " \t\r\n[]/@,\"'";
  const bool is_ipv6 = host.starts_with('[') && host.ends_with(']');
  if (is_ipv6) host = host.substr(1, host.size() - 2);
  return !host.empty() && host.find_first_of(kNotInHosts) == std::string_view::npos &&
         (host.find(':') != std::string_view::npos) == is_ipv6;
}

/// Of unix: and unix-abstract: addresses; nothing for others.
std::optional<Status> CheckPath(std::string_view reason, const std::string& address) {
  for (const std::string_view scheme : {"unix:", "unix-abstract:"}) {
    if (!address.starts_with(scheme)) continue;
    const std::size_t length = address.size() - scheme.size();
    if (length > 0 && length <= kMaxPathBytes) return Status::Ok();
    return Mismatch(reason, "address", "a path of 1 to " + std::to_string(kMaxPathBytes) + " bytes",
                    address);
  }
  return std::nullopt;
}

bool HasPortZero(std::string_view text) {
  return text.substr(text.rfind(':') + 1).find_first_not_of('0') == std::string_view::npos;
}

/// Hosts and ports behind gRPC's schemes; ipv4: and ipv6: may list several.
bool CanConnect(std::string_view address) {
  const bool is_list = address.starts_with("ipv4:") || address.starts_with("ipv6:");
  if (is_list || address.starts_with("dns:")) address.remove_prefix(address.find(':') + 1);
  if (address.starts_with("//")) {
    const std::size_t slash = address.find('/', 2);
    if (slash == std::string_view::npos) return false;
    address.remove_prefix(slash + 1);
  }
  while (is_list && address.find(',') != std::string_view::npos) {
    const std::string_view first = address.substr(0, address.find(','));
    if (!IsHostAndPort(first) || HasPortZero(first)) return false;
    address.remove_prefix(first.size() + 1);
  }
  return IsHostAndPort(address) && !HasPortZero(address);
}

}  // namespace

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
  return colon != std::string_view::npos && IsHost(text.substr(0, colon)) &&
         IsPort(text.substr(colon + 1));
}

Status CheckListenAddress(const std::string& address) {
  if (auto status = CheckPath(reason::CONFIG_INVALID, address)) return *std::move(status);
  if (IsHostAndPort(address)) return Status::Ok();
  return Mismatch(reason::CONFIG_INVALID, "address",
                  std::string(kForms) + " with a port of 0 to 65535", address);
}

Status CheckServerAddress(const std::string& address) {
  if (auto status = CheckPath(reason::ARGUMENT_INVALID, address)) return *std::move(status);
  if (CanConnect(address)) return Status::Ok();
  return Mismatch(reason::ARGUMENT_INVALID, "address",
                  std::string(kForms) + " with a port of 1 to 65535, and no http:// in front",
                  address.empty() ? "nothing" : address);
}

}  // namespace interlacer
