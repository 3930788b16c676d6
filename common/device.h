#pragma once

/// Where the numbers are crunched. `cuda` is strict, `auto` may fall back and says so.

#include <string>
#include <string_view>

#include "common/status.h"

namespace interlacer {

enum class DeviceKind { kCpu, kCuda };
enum class DeviceRequest { kCpu, kCuda, kAuto };

StatusOr<DeviceRequest> ParseDeviceRequest(std::string_view text);  // "cpu" | "cuda" | "auto"

}  // namespace interlacer
