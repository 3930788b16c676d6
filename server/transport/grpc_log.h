#pragma once

/// The gRPC library's own lines, told through common/log in the chosen form. Call once, at start.

namespace interlacer {

void LogGrpcLines();

}  // namespace interlacer
