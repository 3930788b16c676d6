#pragma once

/// Controls whether memory that the process has freed stays with it or returns to the kernel, and
/// measures how much it holds. For glibc only; elsewhere, and under a sanitizer's own allocator,
/// the functions that control do nothing. Thread-safe.

#include <cstdint>
#include <optional>
#include <string>

namespace interlacer {

/// Keeps freed memory in the process and serves blocks of any size from the heap. For programs that
/// allocate large, short-lived blocks again and again: memory given back to the kernel would return
/// one page fault at a time. Call ReleaseIdleMemory when the process is idle.
void RetainFreedMemory();

/// Gives the kernel every whole page of freed memory. Takes longer the larger the heap, and
/// meanwhile other threads may wait for memory; the next block of each page is cleared anew.
void ReleaseIdleMemory();

/// Bytes that are in memory now, and the most that were since ResetPeakMemory, or since the process
/// began; Linux only.
struct ResidentMemory {
  std::int64_t now_bytes = 0;
  std::int64_t peak_bytes = 0;
};
std::optional<ResidentMemory> ReadResidentMemory();
/// The peak counts from here on; false where the kernel does not allow it.
bool ResetPeakMemory();

/// Bytes that the heap has handed out; absent without glibc.
std::optional<std::int64_t> ReadHeapBytes();

/// What the machine, and each control group that this process is in, would still give it, at most,
/// and what they would if nothing else ran; files that the kernel keeps count as free. The least
/// counts. Absent where the kernel does not tell. `root` stands before /proc and /sys.
struct HostRoom {
  std::int64_t free_bytes = 0;
  std::int64_t total_bytes = 0;
};
std::optional<HostRoom> ReadHostRoom(const std::string& root = "");

}  // namespace interlacer
