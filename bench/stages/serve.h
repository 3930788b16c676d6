#pragma once

/// A prediction from the client's point of view: frames in, one step, its rendered view out,
/// through the real server over loopback, against the same work in this process without a server.

#include "bench/platform.h"

namespace interlacer::bench {

/// Adds the stage `serve` to a device's platform.
Platform WithServeStage(Platform platform);

}  // namespace interlacer::bench
