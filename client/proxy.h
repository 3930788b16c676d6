#pragma once

/// Proxies that the environment sets for every program: gRPC follows grpc_proxy, https_proxy and
/// http_proxy. Pure functions; ProxyFor reads the environment.

#include <string>

namespace interlacer {

/// Whether an address of this machine is meant, which no proxy can reach: unix:, localhost,
/// 127.x.x.x, ::1, ::ffff:127.x.x.x and where servers listen (0.0.0.0, ::), with or without dns:,
/// ipv4:, ipv6:.
bool IsLocalAddress(const std::string& address);

/// The variable of the proxy through which gRPC connects to an address; empty without one, for
/// addresses of this machine and for hosts that no_grpc_proxy or no_proxy names.
std::string ProxyFor(const std::string& address);

}  // namespace interlacer
