#pragma once

/// The form of servers' addresses, for those who listen and those who connect: HOST:PORT,
/// [IPv6]:PORT, unix:PATH, unix-abstract:NAME; who connects may put gRPC's dns:, dns:///, ipv4: or
/// ipv6: in front of a host. The libraries below are lenient: they read port 99999 as 34463, a name
/// of a port as 0 and leave the rest to a resolver. Pure functions, thread-safe.

#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

/// 0 to 65535, in digits.
bool IsPort(std::string_view text);

/// A host without scheme, path, blanks or bare colons, and a port.
bool IsHostAndPort(std::string_view text);

/// Whether a server can listen there, port 0 being any. Errors: INVALID_ARGUMENT CONFIG_INVALID at
/// "address".
Status CheckListenAddress(const std::string& address);

/// Whether a client can connect there. Errors: INVALID_ARGUMENT ARGUMENT_INVALID at "address".
Status CheckServerAddress(const std::string& address);

}  // namespace interlacer
