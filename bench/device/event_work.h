#pragma once

/// Times work between two events of the stream that it is put on.
///
/// A figure is the mean of as many runs in a row as take a millisecond, so that the clock's steps
/// are not seen; with rotated inputs it is a single one, since the caches are flushed before each.
/// Errors: std::runtime_error. Threads: one at a time.

#include <cuda_runtime.h>

#include <functional>

#include "bench/case.h"
#include "bench/options.h"

namespace interlacer::bench {

/// `body` puts its work on what `stream` gives. Nothing of the device is touched before the first
/// run.
Work EventWork(std::function<cudaStream_t()> stream, std::function<void()> body,
               const Options& options);

}  // namespace interlacer::bench
