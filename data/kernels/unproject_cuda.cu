#include "common/kernels/launch.h"
#include "common/kernels/prefix_sum.h"
#include "common/kernels/workspace.h"
#include "data/kernels/unproject_cuda.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr std::int64_t kMaxPixels = 2147483647;

struct Workspace {
  std::int32_t* places;  // [pixels] 1 for a valid pixel, then the sums
  std::int32_t* tile_sums;
  std::size_t size_bytes;
};

Workspace Carve(void* base, std::int64_t pixel_count) {
  WorkspaceCutter cutter(base);
  Workspace w;
  w.places = cutter.Take<std::int32_t>(pixel_count);
  w.tile_sums = cutter.Take<std::int32_t>(PrefixSumScratchCount(pixel_count));
  w.size_bytes = cutter.size_bytes();
  return w;
}

std::int64_t PixelCount(const UnprojectViewDevice& view) {
  return static_cast<std::int64_t>(view.width_px) * view.height_px;
}

__device__ PixelClass Lift(const UnprojectViewDevice& view, std::int64_t pixel, float* point_m) {
  const std::int64_t column = view.ray_per_pixel ? pixel : pixel % view.width_px;
  const std::int64_t row = view.ray_per_pixel ? pixel : pixel / view.width_px;
  return LiftPixel(view.lift, view.ray_x_device[column], view.ray_y_device[row],
                   view.depth_m_device[pixel], point_m);
}

/// Class of every pixel, and 1 for valid ones. `classes` and `places` begin at the view's first
/// pixel.
/// Bound: arithmetic in double where a GPU has few units for it, else memory, 4 bytes of depth per
/// pixel.
/// Block: a thread per pixel, nothing shared.
/// Layout: pixels row by row, so that neighbouring threads read neighbouring depths.
__global__ void ClassifyKernel(UnprojectViewDevice view, std::int64_t pixel_count,
                               PixelClass* classes, std::int32_t* places) {
  const std::int64_t pixel = GlobalThread();
  if (pixel >= pixel_count) return;
  float point_m[3];
  const PixelClass pixel_class = Lift(view, pixel, point_m);
  if (classes != nullptr) classes[pixel] = pixel_class;
  places[pixel] = pixel_class == PixelClass::kValid;
}

/// Lifts every pixel a second time and writes the valid ones at their places: storing the points of
/// all pixels between the launches would take 12 bytes a pixel.
/// Bound: as ClassifyKernel, and a write of 20 bytes per valid pixel.
/// Block: a thread per pixel, nothing shared.
/// Layout: valid pixels in order, so that neighbouring threads write to neighbouring places.
__global__ void WritePointsKernel(UnprojectViewDevice view, std::int64_t pixel_count,
                                  std::int64_t first_index, const std::int32_t* places,
                                  UnprojectedDevice result) {
  const std::int64_t pixel = GlobalThread();
  if (pixel >= pixel_count) return;
  float point_m[3];
  if (Lift(view, pixel, point_m) != PixelClass::kValid) return;
  const std::int64_t place = places[pixel] - 1;
  for (int axis = 0; axis < 3; ++axis) result.positions_m[3 * place + axis] = point_m[axis];
  result.source_index[place] = first_index + pixel;
}

}  // namespace

std::size_t UnprojectWorkspaceBytes(std::int64_t pixel_count) {
  return Carve(nullptr, pixel_count).size_bytes;
}

CudaError LaunchUnproject(std::span<const UnprojectViewDevice> views, void* workspace_device,
                          const UnprojectedDevice& result, CudaStream stream) {
  std::int64_t total = 0;
  for (const UnprojectViewDevice& view : views) total += PixelCount(view);
  if (total > kMaxPixels) return cudaErrorInvalidValue;
  if (total == 0) {
    return TakeError(cudaMemsetAsync(result.count, 0, sizeof(std::int32_t), stream));
  }
  const Workspace w = Carve(workspace_device, total);
  std::int64_t first_index = 0;
  for (const UnprojectViewDevice& view : views) {
    const std::int64_t count = PixelCount(view);
    PixelClass* const classes = result.classes == nullptr ? nullptr : result.classes + first_index;
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(ClassifyKernel, BlocksFor(count, kThreads),
                                                 kThreads, stream, view, count, classes,
                                                 w.places + first_index));
    first_index += count;
  }
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchPrefixSum(w.places, total, w.tile_sums, stream));
  first_index = 0;
  for (const UnprojectViewDevice& view : views) {
    const std::int64_t count = PixelCount(view);
    INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(WritePointsKernel, BlocksFor(count, kThreads),
                                                 kThreads, stream, view, count, first_index,
                                                 w.places + first_index, result));
    first_index += count;
  }
  return TakeError(cudaMemcpyAsync(result.count, w.places + total - 1, sizeof(std::int32_t),
                                   cudaMemcpyDeviceToDevice, stream));
}

}  // namespace interlacer
