#include "common/kernels/launch.h"
#include "model/kernels/dynamics_head_cuda.h"
#include "model/kernels/warp_rows.h"

namespace interlacer {
namespace {

constexpr int kThreads = 128;
constexpr int kRows = 4;  // rows a warp: a weight is loaded once for all of them
constexpr int kAxes = 3;

/// Channel lane + 32 item of each row of a warp.
template <int kItems>
using RowChannels = float[kRows][kItems];

/// Subtracts the mean and divides by the standard deviation; the learned scale and bias come later.
template <int kItems>
__device__ void Normalize(float epsilon, RowChannels<kItems>& rows) {
  constexpr float kWidth = kWarpLanes * kItems;
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    float sum = 0, squares = 0;
#pragma unroll
    for (int i = 0; i < kItems; ++i) sum += rows[r][i];
    const float mean = SumOverGroup(sum, kWarpLanes) / kWidth;
#pragma unroll
    for (int i = 0; i < kItems; ++i) {
      rows[r][i] -= mean;
      squares += rows[r][i] * rows[r][i];
    }
    const float inverse = 1 / sqrtf(SumOverGroup(squares, kWarpLanes) / kWidth + epsilon);
#pragma unroll
    for (int i = 0; i < kItems; ++i) rows[r][i] *= inverse;
  }
}

template <int kItems>
__device__ void ScaleAndShift(const RowNorm& norm, const RowChannels<kItems>& from,
                              RowChannels<kItems>& to) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const float scale = norm.scale[lane + kWarpLanes * i];
    const float bias = norm.bias[lane + kWarpLanes * i];
#pragma unroll
    for (int r = 0; r < kRows; ++r) to[r][i] = from[r][i] * scale + bias;
  }
}

/// Dot product of `weight` with each of the four rows; a lane returns the result of row lane / 8.
template <int kItems>
__device__ float DotRows(const float* weight, const RowChannels<kItems>& rows) {
  static_assert(kRows == 4);
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  float sums[kRows] = {};
#pragma unroll
  for (int i = 0; i < kItems; ++i) {
    const float w = weight[lane + kWarpLanes * i];
#pragma unroll
    for (int r = 0; r < kRows; ++r) sums[r] += w * rows[r][i];
  }
  // Two exchanges leave each lane with a single row: each time half of the lanes give away half of
  // their rows. The eight lanes of a row then add up their sums.
  const bool upper = (lane & 16) != 0;
  float pair[2];
#pragma unroll
  for (int r = 0; r < 2; ++r) {
    const float other = __shfl_xor_sync(kWholeWarp, upper ? sums[r] : sums[r + 2], 16);
    pair[r] = (upper ? sums[r + 2] : sums[r]) + other;
  }
  const bool odd = (lane & 8) != 0;
  const float other = __shfl_xor_sync(kWholeWarp, odd ? pair[0] : pair[1], 8);
  float sum = (odd ? pair[1] : pair[0]) + other;
  return SumOverGroup(sum, kWarpLanes / kRows);
}

/// Each warp computes kRows rows.
/// Bound: reads of h, once a row; weights are read once for four rows and stay in the cache.
/// Block: 4 warps that share nothing, so the size only has to fill whole warps.
/// Layout: channel lane + 32 item of each row, so that lanes read neighbouring numbers.
template <int kItems>
__global__ void __launch_bounds__(kThreads)
    DynamicsHeadKernel(std::int64_t n, DynamicsHeadLayers layers, const float* h,
                       DynamicsHeadClouds clouds) {
  constexpr int kWidth = kWarpLanes * kItems;
  const std::int64_t first = GlobalWarp() * kRows;
  if (first >= n) return;
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  float y[kRows][kItems], scaled[kRows][kItems];
#pragma unroll
  for (int r = 0; r < kRows; ++r) {
    // Rows beyond n repeat the last one; they take part in exchanges but write nothing.
    const std::int64_t row = first + r < n ? first + r : n - 1;
#pragma unroll
    for (int i = 0; i < kItems; ++i) y[r][i] = h[row * kWidth + lane + kWarpLanes * i];
  }
  Normalize<kItems>(layers.last_norm.epsilon, y);
  ScaleAndShift<kItems>(layers.last_norm, y, y);
  // Both heads normalise the same rows, so mean and variance are computed once.
  Normalize<kItems>(layers.position_norm.epsilon, y);

  // One lane of each row writes.
  const std::int64_t row = first + lane / 8;
  const bool writes = lane % 8 == 0 && row < n;
  std::int64_t particle = 0;
  if (writes) particle = clouds.particle_at == nullptr ? row : clouds.particle_at[row];
  ScaleAndShift<kItems>(layers.position_norm, y, scaled);
  float gate = 1;
  if (layers.gate_weight != nullptr) {
    gate = 1 / (1 + expf(-(DotRows<kItems>(layers.gate_weight, scaled) + layers.gate_bias[0])));
  }
  float displacement_m[kAxes], squares_m2 = 0;
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis) {
    const float sum = DotRows<kItems>(layers.position_weight + axis * kWidth, scaled);
    displacement_m[axis] =
        gate * (layers.max_displacement_m * tanhf(sum + layers.position_bias[axis]));
    squares_m2 += displacement_m[axis] * displacement_m[axis];
  }
  // NaN is not short: it must be seen.
  const bool stays = squares_m2 < layers.min_displacement_m * layers.min_displacement_m;
#pragma unroll
  for (int axis = 0; axis < kAxes; ++axis) {
    if (!writes) continue;
    const std::int64_t at = particle * kAxes + axis;
    const float position_m = clouds.positions_m[at];
    clouds.next_positions_m[at] = stays ? position_m : position_m + displacement_m[axis];
  }
  ScaleAndShift<kItems>(layers.feature_norm, y, scaled);
  for (int c = 0; c < layers.feature_width; ++c) {
    const float sum = DotRows<kItems>(layers.feature_weight + c * kWidth, scaled);
    if (!writes) continue;
    const std::int64_t at = particle * layers.feature_width + c;
    clouds.next_features[at] = clouds.features[at] + gate * (sum + layers.feature_bias[c]);
  }
}

template <int kItems>
CudaError Launch(std::int64_t n, const DynamicsHeadLayers& layers, const float* h,
                 const DynamicsHeadClouds& clouds, CudaStream stream) {
  constexpr int kRowsOfBlock = kThreads / kWarpLanes * kRows;
  return LaunchBlocks(DynamicsHeadKernel<kItems>, BlocksFor(n, kRowsOfBlock), kThreads, stream, n,
                      layers, h, clouds);
}

}  // namespace

bool FitsDynamicsHead(int width) { return width == 64 || width == 128 || width == 256; }

CudaError LaunchDynamicsHead(std::int64_t n, int width, const DynamicsHeadLayers& layers,
                             const float* h, const DynamicsHeadClouds& clouds, CudaStream stream) {
  // The kernel normalises once for both heads.
  const bool same_epsilon = layers.position_norm.epsilon == layers.feature_norm.epsilon;
  if (n < 0 || layers.feature_width < 0 || !same_epsilon) {
    return cudaErrorInvalidValue;
  }
  switch (width) {
    case 64:
      return Launch<2>(n, layers, h, clouds, stream);
    case 128:
      return Launch<4>(n, layers, h, clouds, stream);
    case 256:
      return Launch<8>(n, layers, h, clouds, stream);
    default:
      return cudaErrorInvalidValue;
  }
}

}  // namespace interlacer
