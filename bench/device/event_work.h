#pragma once

/// Measures the time of work between two events of its stream.
///
/// The result is the mean of as many consecutive runs as take a millisecond, to be above the
/// clock's resolution; with rotated inputs it is a single run, because the caches are flushed
/// before each. Errors: std::runtime_error. Threads: one at a time.

#include <cuda_runtime.h>

#include <functional>

#include "bench/case.h"
#include "bench/options.h"

namespace interlacer::bench {

/// `body` issues its work on the stream that `stream` returns. The device is not touched before the
/// first run.
Work EventWork(std::function<cudaStream_t()> stream, std::function<void()> body,
               const Options& options);

}  // namespace interlacer::bench
