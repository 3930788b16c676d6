#pragma once

/// Starts the real server for stages that measure calls.

#include <memory>

#include "server/transport/interlacer_server.h"

namespace interlacer::bench {

/// Returns a server of one model on a free port of the loopback interface, once it serves. From
/// then on the process logs errors only. Throws std::runtime_error when it cannot start, load or
/// warm up.
std::unique_ptr<InterlacerServer> StartQuietServer(ModelSource model);

}  // namespace interlacer::bench
