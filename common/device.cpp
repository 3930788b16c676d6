#include "common/device.h"

namespace interlacer {

StatusOr<DeviceRequest> ParseDeviceRequest(std::string_view text) {
  if (text == "cpu") return DeviceRequest::kCpu;
  if (text == "cuda") return DeviceRequest::kCuda;
  if (text == "auto") return DeviceRequest::kAuto;
  return Mismatch(reason::ARGUMENT_INVALID, "device", "cpu, cuda or auto", std::string(text));
}

}  // namespace interlacer
