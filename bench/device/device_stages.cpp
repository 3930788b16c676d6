#include <cuda_runtime.h>

#include "bench/device/device_ceilings.h"
#include "bench/device/device_platform.h"
#include "common/thread_pool.h"
#include "tests/device/device_array.h"

namespace interlacer::bench {
namespace {

std::string VersionText(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

nlohmann::ordered_json DescribeDevice() {
  cudaDeviceProp device;
  int driver = 0, runtime = 0;
  RequireCuda(cudaGetDeviceProperties(&device, 0), "cudaGetDeviceProperties");
  RequireCuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  RequireCuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return {{"gpu", device.name},
          {"gpu_memory_bytes", device.totalGlobalMem},
          {"compute_capability", std::to_string(device.major) + "." + std::to_string(device.minor)},
          {"multiprocessors", device.multiProcessorCount},
          {"l2_bytes", device.l2CacheSize},
          {"driver_cuda", VersionText(driver)},
          {"runtime_cuda", VersionText(runtime)}};
}

}  // namespace

void AddDeviceStages(Platform* platform) {
  platform->stages = {
      {"knn", &MakeDeviceKnnCases},
      {"walks", &MakeDeviceWalkCases},
      {"grf_attention", &MakeDeviceGrfAttentionCases},
      {"linear_attention", &MakeDeviceLinearAttentionCases},
      {"render", &MakeDeviceRenderCases},
  };
  platform->prepare = [](const Options& options) { SetThreadCount(options.threads); };
  // Only memory has a floor here: none of our stages alone is bound by arithmetic.
  platform->rate = [](Floor::Kind, const std::string&) { return DeviceCopyBytesPerSecond(); };
  platform->memory = "hbm";
  platform->flush_caches = &FlushDeviceCaches;
  platform->measure_ceilings = &MeasureDeviceCeilings;
  if (platform->absent.empty()) platform->machine = DescribeDevice();
}

}  // namespace interlacer::bench
