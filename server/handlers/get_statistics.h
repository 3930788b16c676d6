#pragma once

/// Handles GetStatistics: counters of every model, and what waits, runs and is kept now; works
/// while models load. Errors: none. Thread-safe.

#include "server/calls/server_context.h"
#include "server/convert/wire.h"

namespace interlacer {

wire::GetStatisticsResponse GetStatistics(const ServerContext& server);

}  // namespace interlacer
