#pragma once

/// The device that a user asks for: `cuda` fails without a GPU, `auto` may fall back to the CPU and
/// reports that it did.

#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

enum class DeviceKind { kCpu, kCuda };
enum class DeviceRequest { kCpu, kCuda, kAuto };

StatusOr<DeviceRequest> ParseDeviceRequest(std::string_view text);  // "cpu" | "cuda" | "auto"

}  // namespace interlacer
