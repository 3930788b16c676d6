#include "bench/device/device_platform.h"
#if INTERLACER_WITH_CUDA
#include "tests/device/device_array.h"
#endif

namespace interlacer::bench {

std::string DeviceAbsence() {
#if INTERLACER_WITH_CUDA
  return MissingDevice();
#else
  return "built without CUDA";
#endif
}

}  // namespace interlacer::bench
