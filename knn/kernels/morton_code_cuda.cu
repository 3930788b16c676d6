#include "common/kernels/launch.h"
#include "knn/kernels/morton_code.h"
#include "knn/kernels/morton_code_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;

__global__ void MortonCodesKernel(const float* positions_m, std::int64_t n, const float* low_m,
                                  double cell_edge_m, std::int64_t* codes) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  const double low[3] = {low_m[0], low_m[1], low_m[2]};
  codes[i] = static_cast<std::int64_t>(MortonCodeOf(positions_m + 3 * i, low, cell_edge_m));
}

}  // namespace

int LaunchMortonCodes(const float* positions_device, std::int64_t n, const float* low_device,
                      double cell_edge_m, std::int64_t* codes_device, void* stream) {
  return LaunchBlocks(MortonCodesKernel, BlocksFor(n, kThreads), kThreads,
                      static_cast<cudaStream_t>(stream), positions_device, n, low_device,
                      cell_edge_m, codes_device);
}

}  // namespace interlacer
