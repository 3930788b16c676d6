#include "bench/device/device_platform.h"

namespace interlacer::bench {

Platform DevicePlatform() {
  Platform platform;
  platform.device = "cuda";
  platform.absent = DeviceAbsence();
#if INTERLACER_WITH_CUDA
  AddDeviceStages(&platform);
#endif
  return platform;
}

}  // namespace interlacer::bench
