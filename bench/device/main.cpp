/// interlacer_bench of the kernels-only build: the stages that consist of CUDA kernels alone.

#include "bench/device/device_platform.h"
#include "bench/program.h"

int main(int argc, char** argv) {
  using namespace interlacer::bench;
  return RunProgram(argc, argv, [] { return std::vector<Platform>{DevicePlatform()}; });
}
