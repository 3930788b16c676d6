#pragma once

/// Proxies that the environment sets for every program: gRPC follows grpc_proxy, https_proxy and
/// http_proxy. Pure functions; SettingProxy reads the environment.

#include <string>

namespace interlacer {

/// Whether an address of this machine is meant, which no proxy can reach: unix:, localhost,
/// 127.x.x.x, ::1, ::ffff:127.x.x.x, with or without dns:, ipv4:, ipv6:.
bool IsLocalAddress(const std::string& address);

/// The first set variable that gRPC follows; empty without one.
std::string SettingProxy();

}  // namespace interlacer
