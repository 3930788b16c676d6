#pragma once

/// Lets a CPU kernel split a range of indices over threads without depending on the thread pool.
///
/// The caller passes interlacer::ParallelFor (common/thread_pool.h), which cuts [0, count) into
/// chunks [m * grain, (m + 1) * grain), so a kernel may number its partial results by
/// begin / grain.

#include <cstdint>
#include <functional>

namespace interlacer {

using ParallelForFunction =
    void (*)(std::int64_t count, std::int64_t grain,
             const std::function<void(std::int64_t begin, std::int64_t end)>& body);

}  // namespace interlacer
