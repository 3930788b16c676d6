#pragma once

/// Computes one row of field inputs (annular_sums.h) with a whole warp. Only .cu files include it.

#include <cstdint>

#include "common/kernels/launch.h"
#include "render/kernels/annular_sums.h"
#include "render/kernels/gather16.h"

namespace interlacer {

/// w_b of a neighbour at this distance.
__device__ inline float AnnularKernelWeight(const AnnularParameters& p, int b, float distance_m) {
  const float z = (distance_m - p.radii_m[b]) / p.bandwidths_m[b];
  return expf(-z * z);
}

/// Sum over the 16 lanes of a half warp, known to all of them.
__device__ inline float HalfWarpSum(float value) {
  for (int step = kGatherWidth / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, step);
  }
  return value;
}

/// Shared memory of a warp at work on a row.
struct AnnularRowMemory {
  float weights[kMaxAnnularKernels][kGatherWidth];
  float scales[kMaxAnnularKernels];
  std::uint32_t slots[kGatherWidth];
};

/// Calls write(column, value) for every column of the row but its padding: weights of 16 neighbours
/// and two kernels at a time, then one channel a lane. `slots` and `sq_dist_m2` [16].
template <typename Write>
__device__ void AnnularRow(const AnnularParameters& p, const float* features,
                           const std::uint32_t* slots, const float* sq_dist_m2,
                           AnnularRowMemory& memory, const Write& write) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  const int member = lane % kGatherWidth;
  const int mass_column = p.kernel_count * p.feature_width;
  const std::uint32_t slot = slots[member];
  const float distance_m = sqrtf(sq_dist_m2[member]);
  if (lane < kGatherWidth) memory.slots[member] = slot;
  for (int first = 0; first < p.kernel_count; first += 2) {
    const int b = first + lane / kGatherWidth;
    const bool present = b < p.kernel_count;
    const float weight = present && slot != kNoSlot ? AnnularKernelWeight(p, b, distance_m) : 0;
    const float mass = HalfWarpSum(weight);
    if (!present) continue;
    memory.weights[b][member] = weight;
    if (member == 0) {
      memory.scales[b] = 1 / (mass + kMassFloor);
      write(mass_column + b, kLogMassScale * logf(mass + kMassFloor));
    }
  }
  __syncwarp();
  for (int x = lane; x < mass_column; x += kWarpLanes) {
    const int b = x / p.feature_width;
    const int c = x % p.feature_width;
    float sum = 0;
    for (int i = 0; i < kGatherWidth; ++i) {
      const std::uint32_t from = memory.slots[i];
      if (from == kNoSlot) break;  // the nearest come first
      sum +=
          memory.weights[b][i] * features[static_cast<std::int64_t>(from) * p.feature_stride + c];
    }
    write(x, sum * memory.scales[b]);
  }
  __syncwarp();
}

}  // namespace interlacer
