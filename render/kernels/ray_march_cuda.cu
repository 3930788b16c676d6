#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "render/kernels/ray_march_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kRaysPerBlock = kThreads / kWarpLanes;
constexpr std::int64_t kMaxSamples = 2147483647;

__device__ float SampleDistance(const MarchInputs& in, std::int64_t ray, int sample) {
  if (sample >= in.samples_per_ray) return in.far_m;
  const float xi = in.jitter == nullptr ? 0.5F : in.jitter[ray * in.samples_per_ray + sample];
  const float step_m = (in.far_m - in.near_m) / static_cast<float>(in.samples_per_ray);
  return in.near_m + (static_cast<float>(sample) + xi) * step_m;
}

__device__ bool IsLive(const MarchInputs& in, const float (&point_m)[3]) {
  if (in.box == nullptr) return true;
  const std::int64_t cell = OccupancyCell(*in.box, point_m);
  return cell >= 0 && in.occupied[cell] != 0;
}

/// A warp a ray, a lane a sample: calls write(place, point, t, delta) for every live sample and
/// returns their number.
template <typename Write>
__device__ std::int32_t March(const MarchInputs& in, std::int64_t ray, const Write& write) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const float* origin = in.origins_m + 3 * ray;
  const float* direction = in.directions + 3 * ray;
  std::int32_t count = 0;
  for (int first = 0; first < in.samples_per_ray; first += kWarpLanes) {
    const int sample = first + lane;
    const float t_m = SampleDistance(in, ray, sample);
    const float point_m[3] = {origin[0] + t_m * direction[0], origin[1] + t_m * direction[1],
                              origin[2] + t_m * direction[2]};
    const bool live = sample < in.samples_per_ray && IsLive(in, point_m);
    const unsigned all = __ballot_sync(kWholeWarp, live);
    if (live) {
      const std::int32_t place = count + __popc(all & ((1u << lane) - 1));
      write(place, point_m, t_m, SampleDistance(in, ray, sample + 1) - t_m);
    }
    count += __popc(all);
  }
  return count;
}

/// Numbers of live samples at first[ray + 1], where the prefix sum turns them into ends.
__global__ void CountSamplesKernel(MarchInputs in, std::int32_t* first) {
  const std::int64_t ray = GlobalWarp();
  if (ray >= in.ray_count) return;
  const std::int32_t count = March(in, ray, [](std::int32_t, const float(&)[3], float, float) {});
  if (threadIdx.x % kWarpLanes != 0) return;
  first[ray + 1] = count;
  if (ray == 0) first[0] = 0;
}

__global__ void WriteSamplesKernel(MarchInputs in, MarchedSamples samples) {
  const std::int64_t ray = GlobalWarp();
  if (ray >= in.ray_count) return;
  const std::int64_t begin = samples.first[ray];
  March(in, ray, [&](std::int32_t place, const float(&point_m)[3], float t_m, float delta_m) {
    for (int axis = 0; axis < 3; ++axis) {
      samples.points_m[3 * (begin + place) + axis] = point_m[axis];
    }
    samples.t_m[begin + place] = t_m;
    samples.delta_m[begin + place] = delta_m;
  });
}

}  // namespace

std::size_t MarchWorkspaceBytes(std::int64_t ray_count) {
  return static_cast<std::size_t>(PrefixSumScratchCount(ray_count + 1)) * sizeof(std::int32_t);
}

int LaunchMarchRays(const MarchInputs& inputs, void* workspace, const MarchedSamples& samples,
                    void* stream_handle) {
  if (inputs.ray_count < 0 || inputs.samples_per_ray < 1 ||
      inputs.ray_count > kMaxSamples / inputs.samples_per_ray) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  if (inputs.ray_count == 0) {
    return TakeError(cudaMemsetAsync(samples.first, 0, sizeof(std::int32_t), stream));
  }
  const std::int64_t blocks = BlocksFor(inputs.ray_count, kRaysPerBlock);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(CountSamplesKernel, blocks, kThreads, stream, inputs, samples.first));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(samples.first, inputs.ray_count + 1,
                                                  static_cast<std::int32_t*>(workspace), stream));
  return LaunchBlocks(WriteSamplesKernel, blocks, kThreads, stream, inputs, samples);
}

}  // namespace interlacer
