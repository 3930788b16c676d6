#include "common/kernels/launch.h"
#include "model/kernels/kinematic_path.h"
#include "model/kernels/kinematic_tokens_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;

/// Each warp handles one point: every lane computes its path, then lanes write different columns.
/// Bound: latency of the path, which all lanes of a warp compute alike; there are few points.
/// Block: 4 warps that share nothing; few warps a block spread few points over the device.
/// Layout: neighbouring lanes write neighbouring columns of a row.
__global__ void __launch_bounds__(kThreads)
    KinematicTokensKernel(const __grid_constant__ KinematicTokens tokens, std::int64_t points,
                          int width, KinematicTokenOutputs out) {
  const std::int64_t point = GlobalWarp();
  if (point >= points) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const KinematicPath path = KinematicPathOf(tokens, static_cast<int>(point));
#pragma unroll
  for (int time = 0; time < kRobotTimes; ++time) {
    const std::int64_t row = time * points + point;
    if (lane < 3) out.points_m[3 * row + lane] = path.point_m[time].at(lane);
    for (int c = lane; c < width; c += kWarpLanes) {
      out.rows[row * width + c] = KinematicColumn(tokens, path, time, c);
    }
  }
}

}  // namespace

CudaError LaunchKinematicTokens(const KinematicTokens& tokens, const KinematicTokenOutputs& out,
                                CudaStream stream) {
  const std::int64_t points = KinematicPointCount(tokens);
  if (points == 0) return 0;
  if (tokens.bodies_per_arm < 3 || points < 0 || points > kMaxBlocks) {
    return cudaErrorInvalidValue;
  }
  return LaunchBlocks(KinematicTokensKernel, BlocksFor(points, kThreads / kWarpLanes), kThreads,
                      stream, tokens, points, KinematicTokenWidth(tokens), out);
}

}  // namespace interlacer
