#pragma once

/// Measures the time of launches captured once in a CUDA graph and replayed, which excludes the
/// host's launch time. Errors: std::runtime_error. Threads: one at a time.

#include <functional>

#include "bench/case.h"
#include "bench/options.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {

/// Issues its work on the stream and returns a cudaError_t.
using Launch = std::function<CudaError(cudaStream_t stream)>;

/// `make_launch` is called at the first run; its launch must neither allocate nor wait, and must
/// always use the same addresses.
Work GraphWork(std::function<Launch()> make_launch, const Options& options);

/// Median of fifteen figures of GraphWork.
double MedianMs(const Launch& launch);

/// Runs `launch` once and waits.
void RunOnce(const CheckedStream& stream, const Launch& launch);

/// Runs a launch for a gate in the way it is timed: captures `launch`, lets `before` fill its
/// results with poison or restore its inputs (and wait), then replays once and waits.
void RunReplayed(const Launch& launch, const std::function<void()>& before);

}  // namespace interlacer::bench
