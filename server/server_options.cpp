#include "server/server_options.h"

#include <algorithm>

namespace interlacer {

bool IsLoopback(const std::string& address) {
  if (address.starts_with("unix:") || address.starts_with("unix-abstract:")) return true;
  const std::string host = address.substr(0, address.rfind(':'));
  if (host == "localhost" || host == "[::1]") return true;
  return host.starts_with("127.") && std::all_of(host.begin(), host.end(), [](char c) {
           return c == '.' || (c >= '0' && c <= '9');
         });
}

}  // namespace interlacer
