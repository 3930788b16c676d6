#include "common/kernels/launch.h"
#include "render/kernels/ssim_cuda.h"

namespace interlacer {
namespace {

constexpr int kChannels = 3;
constexpr int kHalo = kSsimTaps - 1;
constexpr int kTile = 16;  // map pixels on a side
constexpr int kThreads = kTile * kTile;
constexpr int kImageTile = kTile + kHalo;

/// Sums of a window: x, y, x^2 + y^2 and x y.
struct Moments {
  double x, y, squares, products;
};

__device__ void AddWeighted(double weight, const Moments& m, Moments& sum) {
  sum.x += weight * m.x;
  sum.y += weight * m.y;
  sum.squares += weight * m.squares;
  sum.products += weight * m.products;
}

__device__ double Similarity(const Moments& m, double c1, double c2) {
  const double product = m.x * m.y;
  const double square = m.x * m.x + m.y * m.y;
  const double variances = m.squares - square;
  const double covariance = m.products - product;
  return (2 * product + c1) * (2 * covariance + c2) / ((square + c1) * (variances + c2));
}

/// Sum of a number a thread, the same for any timing; `shared` [kThreads].
__device__ double BlockSum(double value, double* shared) {
  shared[threadIdx.x] = value;
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < static_cast<unsigned>(half)) {
      shared[threadIdx.x] += shared[threadIdx.x + half];
    }
    __syncthreads();
  }
  return shared[0];
}

int TilesOf(int pixels) { return (pixels - kHalo + kTile - 1) / kTile; }

/// A block a tile of the map: rows of the tile and its halo are filtered along x into shared
/// memory, then along y, one channel after another.
__global__ void SsimTilesKernel(SsimInputs inputs, int height_px, int tiles_across, double* map,
                                double* tile_sums) {
  __shared__ std::uint8_t image[kImageTile][kImageTile];
  __shared__ std::uint8_t truth[kImageTile][kImageTile];
  __shared__ Moments rows[kImageTile][kTile];
  __shared__ double sums[kThreads];
  const int me = static_cast<int>(threadIdx.x);
  const int map_width = inputs.width_px - kHalo;
  const int map_height = height_px - kHalo;
  const int left = static_cast<int>(blockIdx.x) % tiles_across * kTile;
  const int top = static_cast<int>(blockIdx.x) / tiles_across * kTile;
  const int x = me % kTile;
  const int y = me / kTile;
  double similarity = 0;
  for (int channel = 0; channel < kChannels; ++channel) {
    for (int p = me; p < kImageTile * kImageTile; p += kThreads) {
      const int row = p / kImageTile;
      const int column = p % kImageTile;
      const bool inside = top + row < height_px && left + column < inputs.width_px;
      const std::int64_t at =
          (static_cast<std::int64_t>(top + row) * inputs.width_px + left + column) * kChannels +
          channel;
      image[row][column] = inside ? inputs.image[at] : 0;
      truth[row][column] = inside ? inputs.truth[at] : 0;
    }
    __syncthreads();
    for (int p = me; p < kImageTile * kTile; p += kThreads) {
      const int row = p / kTile;
      const int column = p % kTile;
      Moments sum = {0, 0, 0, 0};
      for (int k = 0; k < kSsimTaps; ++k) {
        const double a = image[row][column + k];
        const double b = truth[row][column + k];
        AddWeighted(inputs.taps[k], {a, b, a * a + b * b, a * b}, sum);
      }
      rows[row][column] = sum;
    }
    __syncthreads();
    Moments window = {0, 0, 0, 0};
    for (int k = 0; k < kSsimTaps; ++k) AddWeighted(inputs.taps[k], rows[y + k][x], window);
    similarity += Similarity(window, inputs.c1, inputs.c2);
  }
  const bool inside = left + x < map_width && top + y < map_height;
  const double value = inside ? similarity / kChannels : 0;
  if (inside && map != nullptr) {
    map[static_cast<std::int64_t>(top + y) * map_width + left + x] = value;
  }
  const double sum = BlockSum(value, sums);
  if (me == 0) tile_sums[blockIdx.x] = sum;
}

/// One block: the mean from the sums of the tiles.
__global__ void SsimMeanKernel(const double* tile_sums, std::int64_t tiles, double pixels,
                               double* mean) {
  __shared__ double sums[kThreads];
  double mine = 0;
  for (std::int64_t tile = threadIdx.x; tile < tiles; tile += kThreads) mine += tile_sums[tile];
  const double sum = BlockSum(mine, sums);
  if (threadIdx.x == 0) *mean = sum / pixels;
}

}  // namespace

std::int64_t SsimCudaScratchCount(int width_px, int height_px) {
  return static_cast<std::int64_t>(TilesOf(width_px)) * TilesOf(height_px);
}

int LaunchSsim(const SsimInputs& inputs, int height_px, double* map_device, double* mean_device,
               double* scratch_device, void* stream_handle) {
  if (inputs.width_px < kSsimTaps || height_px < kSsimTaps) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  const cudaStream_t stream = static_cast<cudaStream_t>(stream_handle);
  const std::int64_t tiles = SsimCudaScratchCount(inputs.width_px, height_px);
  INTERLACER_CUDA_RETURN_IF_ERROR(LaunchBlocks(SsimTilesKernel, tiles, kThreads, stream, inputs,
                                               height_px, TilesOf(inputs.width_px), map_device,
                                               scratch_device));
  const double pixels =
      static_cast<double>(inputs.width_px - kHalo) * static_cast<double>(height_px - kHalo);
  return LaunchBlocks(SsimMeanKernel, 1, kThreads, stream, scratch_device, tiles, pixels,
                      mean_device);
}

}  // namespace interlacer
