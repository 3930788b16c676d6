/// interlacer_bench: every claim about speed, checked and measured on the machine at hand.

#include "bench/device/device_platform.h"
#if INTERLACER_WITH_CUDA
#include "bench/device/model/model_platform.h"
#endif
#include "bench/host_platform.h"
#include "bench/program.h"
#include "bench/stages/serve.h"
#include "model/runtime/process_setup.h"

int main(int argc, char** argv) {
  interlacer::PrepareProcess();
  using namespace interlacer::bench;
  return RunProgram(argc, argv, [] {
    Platform device = DevicePlatform();
#if INTERLACER_WITH_CUDA
    device = WithModelStages(std::move(device));
#endif
    return std::vector<Platform>{HostPlatform(), WithServeStage(std::move(device))};
  });
}
