#pragma once

/// Handles GetServerInfo: version, device, state, models and limits; works while models load.
/// Errors: none. Thread-safe.

#include "server/calls/server_context.h"
#include "server/convert/wire.h"

namespace interlacer {

wire::GetServerInfoResponse GetServerInfo(const ServerContext& server);

}  // namespace interlacer
