#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "render/kernels/ray_march_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMaxSamples = 2147483647;
/// Covers the rounding of float32 squared distances and of cell numbers.
constexpr double kReachSlack = 1.0 + 1e-5;
constexpr int kFar = 60000;

struct OccupancyWorkspace {
  std::uint16_t* gaps;  // [cells]
  std::uint16_t* next_gaps;
  std::size_t size_bytes;
};

OccupancyWorkspace CarveOccupancy(void* base, const OccupancyBox& box) {
  WorkspaceCutter cutter(base);
  OccupancyWorkspace w;
  w.gaps = cutter.Take<std::uint16_t>(box.cell_count());
  w.next_gaps = cutter.Take<std::uint16_t>(box.cell_count());
  w.size_bytes = cutter.size_bytes();
  return w;
}

__device__ std::int64_t GlobalThread() {
  return static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
}

__global__ void FarKernel(std::int64_t cell_count, std::uint16_t* gaps) {
  const std::int64_t cell = GlobalThread();
  if (cell < cell_count) gaps[cell] = kFar;
}

/// Every writer of a cell writes the same number.
__global__ void MarkParticlesKernel(OccupancyBox box, const float* positions_m, std::int64_t n,
                                    std::uint16_t* gaps) {
  const std::int64_t i = GlobalThread();
  if (i >= n) return;
  std::int64_t cell = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const double x = OccupancyCoordinate(box, axis, positions_m[3 * i + axis]);
    const std::int32_t last = box.cells[axis] - 1;
    const std::int32_t place = !(x > 0) ? 0 : x >= last ? last : static_cast<std::int32_t>(x);
    cell = cell * box.cells[axis] + place;
  }
  gaps[cell] = 0;
}

/// Least squared number of whole cells to an occupied cell along one axis more:
/// next[i] = min over |s| <= window of gaps[i + s] + max(|s| - 1, 0)^2, s in cells along the axis.
__global__ void SpreadKernel(std::int64_t cell_count, std::int64_t stride, std::int32_t size,
                             int window, const std::uint16_t* gaps, std::uint16_t* next) {
  const std::int64_t cell = GlobalThread();
  if (cell >= cell_count) return;
  const std::int32_t place = static_cast<std::int32_t>(cell / stride % size);
  int least = kFar;
  for (int shift = -window; shift <= window; ++shift) {
    if (place + shift < 0 || place + shift >= size) continue;
    const int distance = shift < 0 ? -shift : shift;
    const int gap = distance > 1 ? distance - 1 : 0;
    const int sum = gaps[cell + shift * stride] + gap * gap;
    least = sum < least ? sum : least;
  }
  next[cell] = static_cast<std::uint16_t>(least);
}

__global__ void ThresholdKernel(std::int64_t cell_count, const std::uint16_t* gaps, double limit,
                                std::uint8_t* occupied) {
  const std::int64_t cell = GlobalThread();
  if (cell < cell_count) occupied[cell] = gaps[cell] <= limit;
}

__device__ bool MayBeNear(const OccupancyBox& box, const std::uint8_t* occupied,
                          const float (&point_m)[3]) {
  std::int64_t cell = 0;
  for (int axis = 2; axis >= 0; --axis) {
    const double x = OccupancyCoordinate(box, axis, point_m[axis]);
    if (!(x >= 0 && x < box.cells[axis])) return true;
    cell = cell * box.cells[axis] + static_cast<std::int32_t>(x);
  }
  return occupied[cell] != 0;
}

__device__ float SampleDistance(const MarchInputs& in, std::int64_t ray, int sample) {
  if (sample == in.samples_per_ray) return in.far_m;
  const float xi = in.jitter == nullptr ? 0.5F : in.jitter[ray * in.samples_per_ray + sample];
  const float step_m = (in.far_m - in.near_m) / static_cast<float>(in.samples_per_ray);
  return in.near_m + (static_cast<float>(sample) + xi) * step_m;
}

/// Calls write(place, point, t, delta) for every live sample of a ray; returns their number.
template <typename Write>
__device__ std::int32_t March(const MarchInputs& in, std::int64_t ray, const Write& write) {
  const float* origin = in.origins_m + 3 * ray;
  const float* direction = in.directions + 3 * ray;
  std::int32_t live = 0;
  float t_m = SampleDistance(in, ray, 0);
  for (int sample = 0; sample < in.samples_per_ray; ++sample) {
    const float next_m = SampleDistance(in, ray, sample + 1);
    const float point_m[3] = {origin[0] + t_m * direction[0], origin[1] + t_m * direction[1],
                              origin[2] + t_m * direction[2]};
    if (in.occupied == nullptr || MayBeNear(in.box, in.occupied, point_m)) {
      write(live, point_m, t_m, next_m - t_m);
      ++live;
    }
    t_m = next_m;
  }
  return live;
}

/// Numbers of live samples at first[ray + 1], where the prefix sum turns them into ends.
__global__ void CountSamplesKernel(MarchInputs in, std::int32_t* first) {
  const std::int64_t ray = GlobalThread();
  if (ray >= in.ray_count) return;
  if (ray == 0) first[0] = 0;
  first[ray + 1] = March(in, ray, [](std::int32_t, const float(&)[3], float, float) {});
}

__global__ void WriteSamplesKernel(MarchInputs in, MarchedSamples samples) {
  const std::int64_t ray = GlobalThread();
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

std::size_t OccupancyWorkspaceBytes(const OccupancyBox& box) {
  return CarveOccupancy(nullptr, box).size_bytes;
}

int LaunchOccupancy(const OccupancyBox& box, const float* positions_m, std::int64_t n,
                    float radius_m, void* workspace, std::uint8_t* occupied, void* stream_handle) {
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const OccupancyWorkspace w = CarveOccupancy(workspace, box);
  const std::int64_t cells = box.cell_count();
  const std::int64_t blocks = BlocksFor(cells, kThreads);
  const double reach_cells = static_cast<double>(radius_m) * kReachSlack / box.cell_m;
  const int window = static_cast<int>(reach_cells) + 1;
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(FarKernel, blocks, kThreads, stream, cells, w.gaps));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(MarkParticlesKernel, BlocksFor(n, kThreads),
                                               kThreads, stream, box, positions_m, n, w.gaps));
  std::uint16_t* gaps = w.gaps;
  std::uint16_t* next = w.next_gaps;
  std::int64_t stride = 1;
  for (int axis = 0; axis < 3; ++axis) {
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(SpreadKernel, blocks, kThreads, stream, cells,
                                                 stride, box.cells[axis], window, gaps, next));
    std::uint16_t* const read = gaps;
    gaps = next;
    next = read;
    stride *= box.cells[axis];
  }
  return LaunchBlocks(ThresholdKernel, blocks, kThreads, stream, cells, gaps,
                      reach_cells * reach_cells, occupied);
}

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
    return static_cast<int>(cudaMemsetAsync(samples.first, 0, sizeof(std::int32_t), stream));
  }
  const std::int64_t blocks = BlocksFor(inputs.ray_count, kThreads);
  INTERLACER_CUDA_RETURN_IF_ERROR(
      LaunchBlocks(CountSamplesKernel, blocks, kThreads, stream, inputs, samples.first));
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(samples.first, inputs.ray_count + 1,
                                                  static_cast<std::int32_t*>(workspace), stream));
  return LaunchBlocks(WriteSamplesKernel, blocks, kThreads, stream, inputs, samples);
}

}  // namespace interlacer
