#pragma once

/// The device that a user asks for: `cuda` fails without a GPU, `auto` may fall back to the CPU and
/// reports that it did.

#include <cstdint>
#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

enum class DeviceKind { kCpu, kCuda };
enum class DeviceRequest { kCpu, kCuda, kAuto };

/// Memory of a device as this process sees it.
struct DeviceMemory {
  std::int64_t held_bytes = 0;   ///< by objects of the process
  std::int64_t peak_bytes = 0;   ///< most held since a reset
  std::int64_t free_bytes = 0;   ///< that the process could still take, what it keeps unused too
  std::int64_t total_bytes = 0;  ///< of the device, or what the process may have of it
};

StatusOr<DeviceRequest> ParseDeviceRequest(std::string_view text);  // "cpu" | "cuda" | "auto"

}  // namespace interlacer
