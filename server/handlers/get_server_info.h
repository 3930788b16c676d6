#pragma once

/// GetServerInfo: version, device, state, models and limits. Answers while models load.

#include "server/convert/wire.h"
#include "server/server_context.h"

namespace interlacer {

wire::GetServerInfoResponse GetServerInfo(const ServerContext& server);

}  // namespace interlacer
