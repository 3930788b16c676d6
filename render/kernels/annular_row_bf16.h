#pragma once

/// Rows of annular_sums.h in bfloat16 by a whole warp on tensor cores. Only .cu files include it.
///
/// F_b is the product of the particles' features with the kernel's weights over their sum, both
/// rounded to bfloat16; sums, weights before the rounding and the masses are float32. Lane 4 g + t
/// has neighbours 4 t .. 4 t + 3: their weights in kernel g, and features 2 g, 2 g + 1 of each
/// group of 16. The order of neighbours and features within a product is free, and this one reads
/// memory in wide pieces.

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "render/kernels/annular_row.h"

namespace interlacer {

/// w = exp(-((d - radius) / bandwidth)^2) as 2^-(scale d - offset)^2, of a lane's kernel g.
struct LaneKernel {
  float scale, offset;
};

__device__ inline LaneKernel KernelOfLane(const AnnularParameters& p) {
  const int b = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  if (b >= p.kernel_count) return {0, 0};  // nothing reads its sums
  constexpr float kRootLog2E = 1.2011224F;
  const float scale = kRootLog2E / p.bandwidths_m[b];
  return {scale, scale * p.radii_m[b]};
}

/// Zero at an infinite distance, where there is no neighbour.
__device__ inline float LaneKernelWeight(const LaneKernel& kernel, float sq_dist_m2) {
  const float finite = fminf(fmaxf(sq_dist_m2, FLT_MIN), FLT_MAX);
  const float z = kernel.scale * (finite * rsqrtf(finite)) - kernel.offset;
  return exp2f(-z * z);
}

/// Features c and c + 1 of a particle, zero where there are none. With kEven the width and stride
/// are even and rows lie on boundaries of 8 bytes.
template <bool kEven>
__device__ inline float2 FeaturePair(const AnnularParameters& p, const float* features,
                                     std::uint32_t slot, int c) {
  float2 pair = {0, 0};
  const float* from = features + (slot * static_cast<std::uint32_t>(p.feature_stride) + c);
  const bool present = slot != kNoSlot && c < p.feature_width;
  if (kEven) {
    if (present) pair = *reinterpret_cast<const float2*>(from);
  } else {
    if (present) pair.x = from[0];
    if (present && c + 1 < p.feature_width) pair.y = from[1];
  }
  return pair;
}

/// The lower half of `pair` into a column.
__device__ inline void WriteHalf(std::uint32_t pair, int column, std::uint32_t* row) {
  const std::uint16_t half = static_cast<std::uint16_t>(pair);
  memcpy(reinterpret_cast<char*>(row) + sizeof(half) * column, &half, sizeof(half));
}

/// Columns c and c + 1 of kernel b.
template <bool kEven>
__device__ inline void WritePair(const AnnularParameters& p, int b, int c, float low, float high,
                                 std::uint32_t* row) {
  if (b >= p.kernel_count || c >= p.feature_width) return;
  const std::uint32_t pair = RoundPair(low, high);
  const int column = b * p.feature_width + c;
  if (kEven) {
    row[column / 2] = pair;
  } else {
    WriteHalf(pair, column, row);
    if (c + 1 < p.feature_width) WriteHalf(pair >> 16, column + 1, row);
  }
}

/// A lane's four neighbours of a sample.
struct LaneNeighbors {
  uint4 slot;
  float4 sq_dist_m2;
};

__device__ inline LaneNeighbors LoadNeighbors(const std::uint32_t* slots, const float* sq_dist_m2,
                                              int sample) {
  const int four = 4 * sample + static_cast<int>(threadIdx.x) % 4;
  return {reinterpret_cast<const uint4*>(slots)[four],
          reinterpret_cast<const float4*>(sq_dist_m2)[four]};
}

/// Writes a row's sums and returns the mass of the lane's kernel.
template <bool kEven>
__device__ inline float AnnularRowBf16(const AnnularParameters& p, const LaneKernel& kernel,
                                       const float* features, const LaneNeighbors& neighbors,
                                       std::uint32_t* row) {
  const int g = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const uint4& slot = neighbors.slot;
  const float4& sq_dist = neighbors.sq_dist_m2;
  const float4 weight = {LaneKernelWeight(kernel, sq_dist.x), LaneKernelWeight(kernel, sq_dist.y),
                         LaneKernelWeight(kernel, sq_dist.z), LaneKernelWeight(kernel, sq_dist.w)};
  float mass = (weight.x + weight.y) + (weight.z + weight.w);
  mass += __shfl_xor_sync(kWholeWarp, mass, 1);
  mass += __shfl_xor_sync(kWholeWarp, mass, 2);
  const float scale = __fdividef(1, mass + kAnnularMassFloor);
  const std::uint32_t right_low = RoundPair(weight.x * scale, weight.y * scale);
  const std::uint32_t right_high = RoundPair(weight.z * scale, weight.w * scale);
#pragma unroll 1
  for (int first = 0; first < p.feature_width; first += 16) {
    const int c = first + 2 * g;
    const float2 x = FeaturePair<kEven>(p, features, slot.x, c);
    const float2 y = FeaturePair<kEven>(p, features, slot.y, c);
    const float2 z = FeaturePair<kEven>(p, features, slot.z, c);
    const float2 w = FeaturePair<kEven>(p, features, slot.w, c);
    const std::uint32_t left[4] = {RoundPair(x.x, y.x), RoundPair(x.y, y.y), RoundPair(z.x, w.x),
                                   RoundPair(z.y, w.y)};
    float sums[4] = {};
    MultiplyAdd(sums, left, right_low, right_high);
    WritePair<kEven>(p, 2 * t, c, sums[0], sums[2], row);
    WritePair<kEven>(p, 2 * t + 1, c, sums[1], sums[3], row);
  }
  return mass;
}

/// Writes every column but the padding of `count` >= 1 rows and as many more as make it a multiple
/// of 4; rows of `stride` pairs. `slots`, `sq_dist_m2` [count,16] on boundaries of 16 bytes.
/// Neighbours are loaded a row ahead; logarithms are taken of four rows at once, one a lane.
template <bool kEven>
__device__ inline void AnnularRowsBf16(const AnnularParameters& p, const LaneKernel& kernel,
                                       const float* features, const std::uint32_t* slots,
                                       const float* sq_dist_m2, int count, int stride,
                                       std::uint32_t* rows) {
  const int g = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  LaneNeighbors next = LoadNeighbors(slots, sq_dist_m2, 0);
  for (int first = 0; first < count; first += 4) {
    float kept_mass = 0;
    for (int r = first; r < first + 4 && r < count; ++r) {
      const LaneNeighbors neighbors = next;
      if (r + 1 < count) next = LoadNeighbors(slots, sq_dist_m2, r + 1);
      const float mass = AnnularRowBf16<kEven>(p, kernel, features, neighbors, rows + r * stride);
      if (r == first + t) kept_mass = mass;
    }
    if (g < p.kernel_count) {
      const float scaled_log = kAnnularLogMassScale * logf(kept_mass + kAnnularMassFloor);
      WriteHalf(RoundPair(scaled_log, 0), p.kernel_count * p.feature_width + g,
                rows + (first + t) * stride);
    }
  }
}

}  // namespace interlacer
