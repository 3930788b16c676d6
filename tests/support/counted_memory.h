#pragma once

/// Bytes that a test program has allocated, and the most that it had: by LibTorch's allocator in
/// host memory, and by it and operator new. Link counted_new.cpp, which replaces operator new; a
/// sanitizer has one of its own, so not with it. Memory of an alignment above operator new's own is
/// not counted. Thread-safe.

#include <atomic>
#include <cstdint>

namespace interlacer::testing {

/// Bytes that are out, and the most that were.
struct Tally {
  std::atomic<std::int64_t> held{0}, peak{0};
  void Add(std::int64_t bytes) {
    const std::int64_t now = held += bytes;
    std::int64_t most = peak;
    while (now > most && !peak.compare_exchange_weak(most, now)) {
    }
  }
  void Remove(std::int64_t bytes) { held -= bytes; }
};

/// Of LibTorch's allocator, and of it and operator new.
extern constinit Tally of_tensors, of_all;

/// Counts LibTorch's from here on, for the rest of the process: tensors may outlive any scope. Link
/// counted_memory.cpp too.
void CountAllocations();

}  // namespace interlacer::testing
