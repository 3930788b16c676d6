#include "common/kernels/launch.h"
#include "render/kernels/field_cuda.h"

namespace interlacer {
namespace {

constexpr float kMassFloor = 1e-6F;
constexpr float kLogMassScale = 0.1F;

constexpr int kSumThreads = 128;
constexpr int kSumWarps = kSumThreads / kWarpLanes;

/// A warp a sample: weights of 16 neighbours and two kernels at a time, then one channel a lane.
__global__ void AnnularSumsKernel(AnnularParameters parameters, const float* features,
                                  const std::uint32_t* slots, const float* sq_dist_m2,
                                  std::int64_t m, float* inputs) {
  __shared__ float weights[kSumWarps][kMaxAnnularKernels][kGatherWidth];
  __shared__ float scales[kSumWarps][kMaxAnnularKernels];
  __shared__ std::uint32_t shared_slots[kSumWarps][kGatherWidth];
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int warp = static_cast<int>(threadIdx.x) / kWarpLanes;
  const int member = lane % kGatherWidth;
  const std::int64_t s = static_cast<std::int64_t>(blockIdx.x) * kSumWarps + warp;
  if (s >= m) return;
  const int mass_column = parameters.kernel_count * parameters.feature_width;
  float* const row = inputs + s * parameters.input_stride;
  const std::uint32_t slot = slots[kGatherWidth * s + member];
  const float distance = sqrtf(sq_dist_m2[kGatherWidth * s + member]);
  if (lane < kGatherWidth) shared_slots[warp][member] = slot;
  for (int first = 0; first < parameters.kernel_count; first += 2) {
    const int b = first + lane / kGatherWidth;
    const bool present = b < parameters.kernel_count;
    float weight = 0;
    if (present && slot != kNoSlot) {
      const float z = (distance - parameters.radii_m[b]) / parameters.bandwidths_m[b];
      weight = expf(-z * z);
    }
    float mass = weight;
    for (int step = kGatherWidth / 2; step > 0; step /= 2) {
      mass += __shfl_xor_sync(kWholeWarp, mass, step);
    }
    if (!present) continue;
    weights[warp][b][member] = weight;
    if (member == 0) {
      scales[warp][b] = 1 / (mass + kMassFloor);
      row[mass_column + b] = kLogMassScale * logf(mass + kMassFloor);
    }
  }
  __syncwarp();
  for (int x = lane; x < mass_column; x += kWarpLanes) {
    const int b = x / parameters.feature_width;
    const int c = x % parameters.feature_width;
    float sum = 0;
    for (int i = 0; i < kGatherWidth; ++i) {
      const std::uint32_t from = shared_slots[warp][i];
      if (from == kNoSlot) break;  // the nearest come first
      sum += weights[warp][b][i] *
             features[static_cast<std::int64_t>(from) * parameters.feature_stride + c];
    }
    row[x] = sum * scales[warp][b];
  }
  for (int x = mass_column + parameters.kernel_count + lane; x < parameters.input_stride;
       x += kWarpLanes) {
    row[x] = 0;
  }
}

constexpr int kSide = 4;    // of a thread's tile
constexpr int kTile = 64;   // rows and columns of a block's tile
constexpr int kDepth = 16;  // of the operands that are staged at once
constexpr int kDenseThreads = kTile / kSide * (kTile / kSide);

__global__ void DenseForwardKernel(DenseLayer layer, std::int64_t row_tiles) {
  __shared__ __align__(16) float x_tile[kDepth][kTile + kSide];  // transposed
  __shared__ __align__(16) float w_tile[kDepth][kTile];
  const int me = static_cast<int>(threadIdx.x);
  const std::int64_t first_row = blockIdx.x % row_tiles * kTile;
  const int first_column = static_cast<int>(blockIdx.x / row_tiles) * kTile;
  const int row = me / (kTile / kSide) * kSide;
  const int column = me % (kTile / kSide) * kSide;
  float sum[kSide][kSide] = {};
  for (int first = 0; first < layer.x_width; first += kDepth) {
    for (int place = me; place < kTile * kDepth; place += kDenseThreads) {
      const int k = first + place % kDepth;
      const std::int64_t r = first_row + place / kDepth;
      x_tile[place % kDepth][place / kDepth] =
          r < layer.m && k < layer.x_width ? layer.x[r * layer.x_stride + k] : 0;
    }
    for (int place = me; place < kTile * kDepth; place += kDenseThreads) {
      const int k = first + place / kTile;
      const int c = first_column + place % kTile;
      w_tile[place / kTile][place % kTile] =
          k < layer.x_width && c < layer.y_stride
              ? layer.w[static_cast<std::int64_t>(k) * layer.y_stride + c]
              : 0;
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k) {
      const float4 x = *reinterpret_cast<const float4*>(&x_tile[k][row]);
      const float4 w = *reinterpret_cast<const float4*>(&w_tile[k][column]);
      const float x_side[kSide] = {x.x, x.y, x.z, x.w};
      const float w_side[kSide] = {w.x, w.y, w.z, w.w};
#pragma unroll
      for (int a = 0; a < kSide; ++a) {
#pragma unroll
        for (int b = 0; b < kSide; ++b) sum[a][b] += x_side[a] * w_side[b];
      }
    }
    __syncthreads();
  }
#pragma unroll
  for (int a = 0; a < kSide; ++a) {
    const std::int64_t r = first_row + row + a;
    if (r >= layer.m) continue;
#pragma unroll
    for (int b = 0; b < kSide; ++b) {
      const int c = first_column + column + b;
      if (c >= layer.y_stride) continue;
      const std::int64_t at = r * layer.y_stride + c;
      float value = sum[a][b] + (layer.bias != nullptr ? layer.bias[c] : 0);
      if (layer.relu && !(value > 0)) value = 0;
      if (layer.mask != nullptr && !(layer.mask[at] > 0)) value = 0;
      layer.y[at] = value;
    }
  }
}

constexpr int kRayThreads = 128;

__device__ float Softplus(float x) { return x > 0 ? x + log1pf(expf(-x)) : log1pf(expf(x)); }
__device__ float Sigmoid(float x) { return 1 / (1 + expf(-x)); }

/// A thread a ray.
__global__ void CompositeKernel(CompositeInputs in, float* rgb, float* distance_m, float* opacity) {
  const std::int64_t ray = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (ray >= in.ray_count) return;
  float transmittance = 1;
  float color[3] = {0, 0, 0};
  float distance = 0;
  const std::int64_t end = in.first[ray + 1];
  for (std::int64_t s = in.first[ray]; s < end && transmittance >= in.stop_transmittance; ++s) {
    if (!(in.sq_dist_m2[kGatherWidth * s] <= in.empty_radius_m * in.empty_radius_m)) continue;
    const float* logit = in.logits + s * in.logit_stride;
    const float passed = expf(-Softplus(logit[0]) * in.delta_m[s]);
    const float weight = transmittance * (1 - passed);
    for (int c = 0; c < 3; ++c) color[c] += weight * Sigmoid(logit[1 + c]);
    distance += weight * in.t_m[s];
    transmittance *= passed;
  }
  for (int c = 0; c < 3; ++c) rgb[3 * ray + c] = color[c] + transmittance;
  distance_m[ray] = distance + transmittance * in.far_m;
  opacity[ray] = 1 - transmittance;
}

}  // namespace

int LaunchAnnularSums(const AnnularParameters& parameters, const float* features_device,
                      const std::uint32_t* slots_device, const float* sq_dist_device,
                      std::int64_t m, float* inputs_device, void* stream) {
  if (parameters.kernel_count < 1 || parameters.kernel_count > kMaxAnnularKernels) {
    return static_cast<int>(cudaErrorInvalidValue);
  }
  return LaunchBlocks(AnnularSumsKernel, BlocksFor(m, kSumWarps), kSumThreads,
                      static_cast<cudaStream_t>(stream), parameters, features_device, slots_device,
                      sq_dist_device, m, inputs_device);
}

int LaunchDenseForward(const DenseLayer& layer, void* stream) {
  const std::int64_t row_tiles = BlocksFor(layer.m, kTile);
  return LaunchBlocks(DenseForwardKernel, row_tiles * BlocksFor(layer.y_stride, kTile),
                      kDenseThreads, static_cast<cudaStream_t>(stream), layer, row_tiles);
}

int LaunchComposite(const CompositeInputs& inputs, float* rgb_device, float* distance_device,
                    float* opacity_device, void* stream) {
  return LaunchBlocks(CompositeKernel, BlocksFor(inputs.ray_count, kRayThreads), kRayThreads,
                      static_cast<cudaStream_t>(stream), inputs, rgb_device, distance_device,
                      opacity_device);
}

}  // namespace interlacer
