#pragma once

/// `step`, `train_step` and `update` for the device's platform, where LibTorch is.

#include "bench/platform.h"

namespace interlacer::bench {

Platform WithModelStages(Platform device);

}  // namespace interlacer::bench
