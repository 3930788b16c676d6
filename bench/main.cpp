/// interlacer_bench: every claim about speed, checked and measured on the machine at hand.

#include "bench/device/device_platform.h"
#include "bench/device/model/model_platform.h"
#include "bench/host_platform.h"
#include "bench/program.h"
#include "bench/stages/serve.h"
#include "model/runtime/process_setup.h"

int main(int argc, char** argv) {
  interlacer::PrepareProcess(argv);
  using namespace interlacer::bench;
  return RunProgram(argc, argv, [] {
    return std::vector<Platform>{HostPlatform(), WithServeStage(WithModelStages(DevicePlatform()))};
  });
}
