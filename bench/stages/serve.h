#pragma once

/// A prediction as a robot's controller sees it: frames in, one step, its picture out, through the
/// real server over loopback, beside the same work in this process without a server.

#include "bench/platform.h"

namespace interlacer::bench {

/// Adds `serve` to the stages of a device.
Platform WithServeStage(Platform platform);

}  // namespace interlacer::bench
