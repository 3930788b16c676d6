#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "render/kernels/ray_march_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kRaysPerBlock = kThreads / kWarpLanes;
constexpr std::int64_t kMaxSamples = 2147483647;

/// Words that hold a bit for every sample of a ray.
INTERLACER_HOST_DEVICE int WordsPerRay(int samples_per_ray) {
  return (samples_per_ray + kWarpLanes - 1) / kWarpLanes;
}

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

struct Sample {
  float t_m;
  float point_m[3];
};

__device__ Sample SampleAt(const MarchInputs& in, std::int64_t ray, int sample) {
  const float* origin = in.origins_m + 3 * ray;
  const float* direction = in.directions + 3 * ray;
  const float t_m = SampleDistance(in, ray, sample);
  return {t_m,
          {origin[0] + t_m * direction[0], origin[1] + t_m * direction[1],
           origin[2] + t_m * direction[2]}};
}

/// Marks the live samples of a ray, a bit each in live[ray], and writes their number to first[ray +
/// 1], where the prefix sum turns it into an end.
/// Bound: scattered reads of the occupancy grid, a byte per sample.
/// Block: a warp per ray and a lane per sample, so that a ballot yields a word of bits.
/// Layout: each ray begins a word of its own, so that no two warps write to one.
__global__ void MarkSamplesKernel(MarchInputs in, std::uint32_t* live, std::int32_t* first) {
  const std::int64_t ray = GlobalWarp();
  if (ray >= in.ray_count) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  std::int32_t count = 0;
  for (int w = 0; w < WordsPerRay(in.samples_per_ray); ++w) {
    const int sample = kWarpLanes * w + lane;
    const unsigned word = __ballot_sync(
        kWholeWarp, sample < in.samples_per_ray && IsLive(in, SampleAt(in, ray, sample).point_m));
    if (lane == 0) live[WordsPerRay(in.samples_per_ray) * ray + w] = word;
    count += __popc(word);
  }
  if (lane != 0) return;
  first[ray + 1] = count;
  if (ray == 0) first[0] = 0;
}

/// Writes the live samples of a ray at their places.
/// Bound: memory; 20 bytes are written per live sample.
/// Block: a warp per ray and a lane per sample; the bits below a lane give its place.
/// Layout: samples ray by ray, so that the lanes of a warp write to neighbouring places.
__global__ void WriteSamplesKernel(MarchInputs in, const std::uint32_t* live,
                                   MarchedSamples samples) {
  const std::int64_t ray = GlobalWarp();
  if (ray >= in.ray_count) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  std::int64_t begin = samples.first[ray];
  for (int w = 0; w < WordsPerRay(in.samples_per_ray); ++w) {
    const std::uint32_t word = live[WordsPerRay(in.samples_per_ray) * ray + w];
    if ((word >> lane & 1) != 0) {
      const int number = kWarpLanes * w + lane;
      const Sample sample = SampleAt(in, ray, number);
      const std::int64_t place = begin + __popc(word & ((1u << lane) - 1));
      for (int axis = 0; axis < 3; ++axis) {
        samples.points_m[3 * place + axis] = sample.point_m[axis];
      }
      samples.t_m[place] = sample.t_m;
      samples.delta_m[place] = SampleDistance(in, ray, number + 1) - sample.t_m;
    }
    begin += __popc(word);
  }
}

struct Workspace {
  std::int32_t* scratch;  // of the prefix sum
  std::uint32_t* live;    // [rays, words]
  std::size_t size_bytes;
};

Workspace Carve(void* memory, std::int64_t ray_count, int samples_per_ray) {
  WorkspaceCutter cutter(memory);
  Workspace w;
  w.scratch = cutter.Take<std::int32_t>(PrefixSumScratchCount(ray_count + 1));
  w.live = cutter.Take<std::uint32_t>(WordsPerRay(samples_per_ray) * ray_count);
  w.size_bytes = cutter.size_bytes();
  return w;
}

}  // namespace

std::size_t MarchWorkspaceBytes(std::int64_t ray_count, int samples_per_ray) {
  return Carve(nullptr, ray_count, samples_per_ray).size_bytes;
}

CudaError LaunchMarchRays(const MarchInputs& inputs, void* workspace, const MarchedSamples& samples,
                          CudaStream stream) {
  if (inputs.ray_count < 0 || inputs.samples_per_ray < 1 ||
      inputs.ray_count > kMaxSamples / inputs.samples_per_ray) {
    return cudaErrorInvalidValue;
  }
  if (inputs.ray_count == 0) {
    return TakeError(cudaMemsetAsync(samples.first, 0, sizeof(std::int32_t), stream));
  }
  const Workspace w = Carve(workspace, inputs.ray_count, inputs.samples_per_ray);
  const std::int64_t blocks = BlocksFor(inputs.ray_count, kRaysPerBlock);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(MarkSamplesKernel, blocks, kThreads, stream, inputs, w.live, samples.first));
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchPrefixSum(samples.first, inputs.ray_count + 1, w.scratch, stream));
  return LaunchBlocks(WriteSamplesKernel, blocks, kThreads, stream, inputs, w.live, samples);
}

}  // namespace interlacer
