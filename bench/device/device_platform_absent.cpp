#include "bench/device/device_platform.h"

namespace interlacer::bench {

std::string DeviceAbsence() { return "built without CUDA"; }

Platform DevicePlatform() {
  Platform platform;
  platform.device = "cuda";
  platform.absent = DeviceAbsence();
  return platform;
}

}  // namespace interlacer::bench
