#pragma once

/// Accesses to a byte since it was last written in order, and whether they come before the running
/// thread in the order of memory_check.h. Pure except for the running thread.

#include <cstdint>

#include "machine.h"
#include "memory_check.h"

namespace interlacer::emulation {

/// Stands for several threads: of one block, or of several blocks.
inline constexpr std::uint16_t kThreadsOfBlock = 0xFFFE;
inline constexpr std::uint16_t kThreadsOfBlocks = 0xFFFF;
/// This number plus the warp stands for several threads of a warp.
inline constexpr std::uint16_t kThreadsOfWarp = 0x8000;

/// All accesses of one kind to a byte since it was last written in order.
struct Trace {
  std::uint32_t block_run = 0;  ///< 0: none
  std::uint32_t place = 0;      ///< of the access in the program
  std::uint16_t thread = 0;
  std::uint16_t block_order = 0;
  std::uint16_t warp_order = 0;
  std::uint16_t unused = 0;  ///< no padding: traces are compared byte by byte
};

struct Byte {
  Trace read, write, atomic;
};

/// `begin` is the first block whose accesses count.
inline bool ComesBefore(const Trace& trace, std::uint32_t begin) {
  const RunningThread& me = running_thread;
  if (trace.block_run < begin) return true;
  if (trace.thread == kThreadsOfBlocks || trace.block_run != me.block_run) return false;
  if (trace.block_order < me.block_order || trace.thread == me.thread) return true;
  if (trace.thread == kThreadsOfBlock) return false;
  const int warp =
      (trace.thread & kThreadsOfWarp) != 0 ? trace.thread & ~kThreadsOfWarp : trace.thread / kLanes;
  return warp == me.thread / kLanes && trace.warp_order < me.warp_order;
}

/// Accesses that are ordered before the running thread need no trace: whatever follows the thread
/// also follows them.
inline void Add(Trace& trace, std::uint32_t begin, std::uint32_t place) {
  const RunningThread& me = running_thread;
  if (ComesBefore(trace, begin)) {
    trace = {me.block_run, place, me.thread, me.block_order, me.warp_order, 0};
  } else if (trace.thread == kThreadsOfBlocks || trace.block_run != me.block_run) {
    trace.thread = kThreadsOfBlocks;
  } else {
    const auto warp = static_cast<std::uint16_t>(kThreadsOfWarp | me.thread / kLanes);
    const bool same_warp = trace.thread == warp || (trace.thread < kThreadsOfWarp &&
                                                    trace.thread / kLanes == me.thread / kLanes);
    trace.thread = same_warp ? warp : kThreadsOfBlock;
  }
}

}  // namespace interlacer::emulation
