#pragma once

/// `step` and `train_step` for the device's platform, where LibTorch is.

#include "bench/platform.h"

namespace interlacer::bench {

Platform WithModelStages(Platform device);

}  // namespace interlacer::bench
