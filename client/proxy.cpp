#include "client/proxy.h"

#include <algorithm>
#include <cctype>
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

std::string_view Variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool EndsWithIgnoringCase(std::string_view text, std::string_view end) {
  return text.size() >= end.size() &&
         std::equal(end.rbegin(), end.rend(), text.rbegin(), [](unsigned char a, unsigned char b) {
           return std::tolower(a) == std::tolower(b);
         });
}

/// By gRPC's rule: a host that ends with an entry of the list.
bool IsExcluded(std::string_view host) {
  std::string_view list = Variable("no_grpc_proxy");
  if (list.empty()) list = Variable("no_proxy");
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    std::string_view entry = list.substr(0, end);
    while (entry.starts_with(' ')) entry.remove_prefix(1);
    while (entry.ends_with(' ')) entry.remove_suffix(1);
    if (!entry.empty() && EndsWithIgnoringCase(host, entry)) return true;
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return false;
}

}  // namespace

bool IsLocalAddress(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  std::string_view host = HostOf(address);
  if (host == "localhost" || host == "ip6-localhost" || host == "::1") return true;
  if (host == "0.0.0.0" || host == "::") return true;  // where servers listen
  if (host.starts_with("::ffff:")) host.remove_prefix(7);
  return IsLoopbackIpv4(host);
}

std::string ProxyFor(const std::string& address) {
  if (IsLocalAddress(address) || IsExcluded(HostOf(address))) return "";
  for (const char* name : {"grpc_proxy", "https_proxy", "http_proxy"}) {
    if (!Variable(name).empty()) return name;
  }
  return "";
}

}  // namespace interlacer
