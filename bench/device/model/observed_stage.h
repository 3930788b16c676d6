#pragma once

/// The stage `observed` on a CUDA device. Threads: one at a time.

#include <vector>

#include "bench/case.h"
#include "bench/options.h"

namespace interlacer::bench {

std::vector<Case> MakeDeviceObservedCases(const Options& options);

}  // namespace interlacer::bench
