/// interlacer_device_bench: only the stages of a CUDA device, so that a small program suffices on a
/// machine that has LibTorch.

#include "bench/device/device_platform.h"
#include "bench/device/model/model_platform.h"
#include "bench/program.h"
#include "bench/stages/serve.h"
#include "model/runtime/process_setup.h"

int main(int argc, char** argv) {
  interlacer::PrepareProcess();
  using namespace interlacer::bench;
  return RunProgram(argc, argv, [] {
    return std::vector<Platform>{WithServeStage(WithModelStages(DevicePlatform()))};
  });
}
