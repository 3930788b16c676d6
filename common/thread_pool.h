#pragma once

/// The thread pool of the CPU kernels: one pool per process, static split of index ranges.
///
/// The split depends on the range and `grain` alone, never on timing, so fixed-order reductions
/// over chunks give equal bits for any thread count. Nested calls run inline. Thread-safe.

#include <cstdint>
#include <functional>

namespace interlacer {

/// Sets the number of threads; call once at start, before the first ParallelFor. 0 = hardware.
void SetThreadCount(int count);
int ThreadCount();

/// Calls body(begin, end) over [0, count) cut into chunks of `grain` (>= 1); blocks until done.
/// Where a body throws, chunks that have not begun are left out, and one of the exceptions is
/// thrown on to the caller once no body runs any more.
void ParallelFor(std::int64_t count, std::int64_t grain,
                 const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace interlacer
