#pragma once

/// Times launches as replays of a CUDA graph that they were captured in once, so that what the host
/// takes to launch them is not seen. Errors: std::runtime_error. Threads: one at a time.

#include <functional>

#include "bench/case.h"
#include "bench/options.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {

/// Puts its work on the stream and returns a cudaError_t.
using Launch = std::function<int(cudaStream_t stream)>;

/// What `make_launch` gives, asked at the first run, must neither allocate nor wait, and always use
/// the same addresses.
Work GraphWork(std::function<Launch()> make_launch, const Options& options);

/// Runs `launch` once and waits.
void RunOnce(const CheckedStream& stream, const Launch& launch);

/// What gates look at, done as it is timed: captures `launch`, lets `before` fill its results with
/// poison or put its inputs back (and wait), then replays once and waits.
void RunReplayed(const Launch& launch, const std::function<void()>& before);

}  // namespace interlacer::bench
