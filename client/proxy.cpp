#include "client/proxy.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace interlacer {
namespace {

/// Without scheme, authority ("dns://8.8.8.8/"), port and brackets.
std::string_view HostOf(std::string_view address) {
  for (const std::string_view scheme : {"dns:", "ipv4:", "ipv6:"}) {
    if (address.starts_with(scheme)) address.remove_prefix(scheme.size());
  }
  if (address.starts_with("//")) {
    address.remove_prefix(std::min(address.find('/', 2), address.size() - 1) + 1);
  }
  if (address.starts_with('[')) return address.substr(1, address.find(']') - 1);
  const std::size_t colon = address.find(':');
  const bool is_bare_ipv6 =
      colon != std::string_view::npos && address.find(':', colon + 1) != std::string_view::npos;
  return is_bare_ipv6 ? address : address.substr(0, colon);
}

bool IsLoopbackIpv4(std::string_view host) {
  return host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

bool IsLocalAddress(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  std::string_view host = HostOf(address);
  if (host == "localhost" || host == "::1") return true;
  if (host.starts_with("::ffff:")) host.remove_prefix(7);
  return IsLoopbackIpv4(host);
}

std::string SettingProxy() {
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) {
    const char* value = std::getenv(name);
    if (value != nullptr && *value != '\0') return name;
  }
  return "";
}

}  // namespace interlacer
