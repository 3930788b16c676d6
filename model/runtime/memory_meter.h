#pragma once

/// Measures memory of a torch device: what this process holds there, and held at most since the
/// last reset. On the CPU that is the heap's, whose peak is that of the whole process beyond what
/// was resident at the reset, which gives back what is unused. One thread; others that allocate
/// meanwhile are measured too. Torch's errors are no Status here.

#include <c10/core/Device.h>

#include <optional>

#include "common/device.h"
#include "common/process_memory.h"

namespace interlacer {

class MemoryMeter {
 public:
  explicit MemoryMeter(c10::Device device) : device_(device) {}

  void Reset();
  /// Absent before the first reset, and where system or allocator do not tell.
  std::optional<DeviceMemory> Read() const;

 private:
  std::optional<DeviceMemory> ReadHost() const;
  DeviceMemory ReadDevice() const;

  c10::Device device_;
  bool is_reset_ = false;
  std::int64_t heap_bytes_ = 0, resident_bytes_ = 0;  ///< of the host at the reset
};

}  // namespace interlacer
