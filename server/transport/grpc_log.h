#pragma once

/// Redirects the gRPC library's log lines to common/log. Call once, at start.

namespace interlacer {

void LogGrpcLines();

}  // namespace interlacer
