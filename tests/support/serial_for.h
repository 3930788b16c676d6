#pragma once

/// A ParallelForFunction (common/kernels/parallel_for.h) without threads, for tests that link no
/// pool and for comparisons with one. Chunks are those of ParallelFor.

#include <cstdint>
#include <functional>

namespace interlacer::testing {

inline void SerialFor(std::int64_t count, std::int64_t grain,
                      const std::function<void(std::int64_t begin, std::int64_t end)>& body) {
  for (std::int64_t begin = 0; begin < count; begin += grain) {
    body(begin, begin + grain < count ? begin + grain : count);
  }
}

}  // namespace interlacer::testing
