#pragma once

/// Times work on a stream: captured once in a CUDA graph, replayed between two events.
///
/// A figure is the mean of as many replays in a row as take a millisecond, so that neither the
/// clock nor the launch from the host is seen; with rotated inputs it is a single one, since the
/// caches are flushed before each. Errors: std::runtime_error. Threads: one at a time.

#include <functional>
#include <memory>
#include <utility>

#include "bench/case.h"
#include "bench/device/device_memory.h"
#include "bench/options.h"

namespace interlacer::bench {

/// Puts its work on the stream and returns a cudaError_t.
using Launch = std::function<int(cudaStream_t stream)>;

/// What `make_launch` gives, asked at the first run, must neither allocate nor wait, and always use
/// the same addresses.
Work GraphWork(std::function<Launch()> make_launch, const Options& options);

/// A value that is made when it is first asked for: cases can be named without a device.
template <typename T, typename Make>
std::function<T&()> OnFirstUse(Make make) {
  return [held = std::make_shared<std::unique_ptr<T>>(), make = std::move(make)]() -> T& {
    if (!*held) *held = make();
    return **held;
  };
}

/// Runs `launch` once and waits: what gates look at.
void RunOnce(const BenchStream& stream, const Launch& launch);

}  // namespace interlacer::bench
