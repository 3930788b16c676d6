#pragma once

/// Adds the stages `step`, `train_step`, `update` and `observed` to the device's platform of builds
/// with LibTorch and CUDA.

#include "bench/platform.h"

namespace interlacer::bench {

Platform WithModelStages(Platform device);

}  // namespace interlacer::bench
