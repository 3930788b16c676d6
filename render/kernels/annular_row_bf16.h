#pragma once

/// Computes rows of field inputs (annular_sums.h) in bfloat16 with a whole warp on tensor cores.
/// Only .cu files include it.
///
/// F_b is the product of the particles' features with the kernel's weights over their sum, both
/// rounded to bfloat16; sums, weights before the rounding and the masses are float32. A product has
/// room for the weights of 8 kernels, so that two samples of at most 4 share the right side of two:
/// kPaired says so, and that features have an even width and stride and lie on boundaries of 8
/// bytes. Lane 4 g + t has neighbours 4 t .. 4 t + 3: their weights in kernel g, or with kPaired in
/// kernel g % 4 of sample g / 4, and features 2 g, 2 g + 1 of each group of 16. The order of
/// neighbours and features within a product is free, and this one reads memory in wide pieces.

#include <cfloat>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "render/kernels/annular_row.h"

namespace interlacer {

template <bool kPaired>
inline constexpr int kSamplesAtOnce = kPaired ? 2 : 1;
/// Columns of a product that belong to one sample.
template <bool kPaired>
inline constexpr int kKernelsAtOnce = 8 / kSamplesAtOnce<kPaired>;

/// w = exp(-((d - radius) / bandwidth)^2) as 2^-(scale d - offset)^2, of a lane's kernel.
struct LaneKernel {
  float scale, offset;
};

template <bool kPaired>
__device__ inline LaneKernel KernelOfLane(const AnnularParameters& p) {
  const int b = static_cast<int>(threadIdx.x) % kWarpLanes / 4 % kKernelsAtOnce<kPaired>;
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

/// Features c and c + 1 of a particle, zero where there are none.
template <bool kPaired>
__device__ inline float2 FeaturePair(const AnnularParameters& p, const float* features,
                                     std::uint32_t slot, int c) {
  float2 pair = {0, 0};
  const float* from = features + (slot * static_cast<std::uint32_t>(p.feature_stride) + c);
  const bool present = slot != kNoSlot && c < p.feature_width;
  if (kPaired) {
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
template <bool kPaired>
__device__ inline void WritePair(const AnnularParameters& p, int b, int c, float low, float high,
                                 std::uint32_t* row) {
  if (b >= p.kernel_count || c >= p.feature_width) return;
  const std::uint32_t pair = RoundPair(low, high);
  const int column = b * p.feature_width + c;
  if (kPaired) {
    row[column / 2] = pair;
  } else {
    WriteHalf(pair, column, row);
    if (c + 1 < p.feature_width) WriteHalf(pair >> 16, column + 1, row);
  }
}

/// A lane's four neighbours of each of the samples at once, and their distances from its own.
template <bool kPaired>
struct LaneNeighbors {
  uint4 slot[kSamplesAtOnce<kPaired>];
  float4 sq_dist_m2;
};

/// Loads the neighbours of samples from `first` on; the last of `count` samples stands in for those
/// beyond.
template <bool kPaired>
__device__ inline LaneNeighbors<kPaired> LoadNeighbors(const std::uint32_t* slots,
                                                       const float* sq_dist_m2, int first,
                                                       int count) {
  const int g = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const auto four_of = [=](int sample) { return 4 * (sample < count ? sample : count - 1) + t; };
  LaneNeighbors<kPaired> neighbors;
  for (int s = 0; s < kSamplesAtOnce<kPaired>; ++s) {
    neighbors.slot[s] = reinterpret_cast<const uint4*>(slots)[four_of(first + s)];
  }
  neighbors.sq_dist_m2 =
      reinterpret_cast<const float4*>(sq_dist_m2)[four_of(first + g / kKernelsAtOnce<kPaired>)];
  return neighbors;
}

/// Features c and c + 1 of four neighbours as the left side of a product.
template <bool kPaired>
__device__ inline void LoadLeft(const AnnularParameters& p, const float* features,
                                const uint4& slot, int c, std::uint32_t (&left)[4]) {
  const float2 x = FeaturePair<kPaired>(p, features, slot.x, c);
  const float2 y = FeaturePair<kPaired>(p, features, slot.y, c);
  const float2 z = FeaturePair<kPaired>(p, features, slot.z, c);
  const float2 w = FeaturePair<kPaired>(p, features, slot.w, c);
  left[0] = RoundPair(x.x, y.x);
  left[1] = RoundPair(x.y, y.y);
  left[2] = RoundPair(z.x, w.x);
  left[3] = RoundPair(z.y, w.y);
}

/// Writes the sums of the rows at once and returns the mass of the lane's kernel and sample.
template <bool kPaired>
__device__ inline float WriteSums(const AnnularParameters& p, const LaneKernel& kernel,
                                  const float* features, const LaneNeighbors<kPaired>& neighbors,
                                  int stride, std::uint32_t* rows) {
  constexpr int kSamples = kSamplesAtOnce<kPaired>;
  const int g = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const float4& sq_dist = neighbors.sq_dist_m2;
  const float4 weight = {LaneKernelWeight(kernel, sq_dist.x), LaneKernelWeight(kernel, sq_dist.y),
                         LaneKernelWeight(kernel, sq_dist.z), LaneKernelWeight(kernel, sq_dist.w)};
  float mass = (weight.x + weight.y) + (weight.z + weight.w);
  mass += __shfl_xor_sync(kWholeWarp, mass, 1);
  mass += __shfl_xor_sync(kWholeWarp, mass, 2);
  const float scale = __fdividef(1, mass + kMassFloor);
  const std::uint32_t right_low = RoundPair(weight.x * scale, weight.y * scale);
  const std::uint32_t right_high = RoundPair(weight.z * scale, weight.w * scale);
  // Whose sums the lane gets, and of which kernels: columns 2 t and 2 t + 1.
  const int sample = 2 * t / kKernelsAtOnce<kPaired>;
  const int b = 2 * t % kKernelsAtOnce<kPaired>;
#pragma unroll 1
  for (int first = 0; first < p.feature_width; first += 16) {
    const int c = first + 2 * g;
    std::uint32_t left[kSamples][4];
    float sums[kSamples][4] = {};
    for (int s = 0; s < kSamples; ++s) {
      LoadLeft<kPaired>(p, features, neighbors.slot[s], c, left[s]);
    }
    for (int s = 0; s < kSamples; ++s) MultiplyAdd(sums[s], left[s], right_low, right_high);
    for (int i = 0; i < 4; ++i) sums[0][i] = sample == 0 ? sums[0][i] : sums[kSamples - 1][i];
    WritePair<kPaired>(p, b, c, sums[0][0], sums[0][2], rows + sample * stride);
    WritePair<kPaired>(p, b + 1, c, sums[0][1], sums[0][3], rows + sample * stride);
  }
  return mass;
}

/// Writes every column but the padding of `count` >= 1 rows and as many more as make it a multiple
/// of 8; rows of `stride` pairs. `slots`, `sq_dist_m2` [count,16] on boundaries of 16 bytes.
/// Neighbours are loaded ahead; logarithms are taken of several rows at once, one a lane.
template <bool kPaired>
__device__ inline void AnnularRowsBf16(const AnnularParameters& p, const LaneKernel& kernel,
                                       const float* features, const std::uint32_t* slots,
                                       const float* sq_dist_m2, int count, int stride,
                                       std::uint32_t* rows) {
  constexpr int kSamples = kSamplesAtOnce<kPaired>;
  const int g = static_cast<int>(threadIdx.x) % kWarpLanes / 4;
  const int t = static_cast<int>(threadIdx.x) % 4;
  const int b = g % kKernelsAtOnce<kPaired>;
  const int own = g / kKernelsAtOnce<kPaired>;
  LaneNeighbors<kPaired> next = LoadNeighbors<kPaired>(slots, sq_dist_m2, 0, count);
  for (int first = 0; first < count; first += 4 * kSamples) {
    float kept_mass = 0;
    for (int i = 0; i < 4 && first + kSamples * i < count; ++i) {
      const int r = first + kSamples * i;
      const LaneNeighbors<kPaired> neighbors = next;
      if (r + kSamples < count) {
        next = LoadNeighbors<kPaired>(slots, sq_dist_m2, r + kSamples, count);
      }
      const float mass =
          WriteSums<kPaired>(p, kernel, features, neighbors, stride, rows + r * stride);
      if (i == t) kept_mass = mass;
    }
    if (b < p.kernel_count) {
      const float scaled_log = kLogMassScale * logf(kept_mass + kMassFloor);
      WriteHalf(RoundPair(scaled_log, 0), p.kernel_count * p.feature_width + b,
                rows + (first + kSamples * t + own) * stride);
    }
  }
}

}  // namespace interlacer
