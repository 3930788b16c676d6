#pragma once

/// Helpers for rows of floats that are spread over the lanes of a warp. Only .cu files include it.
///
/// A group of 1, 2, 4, ... or 32 lanes holds a row, each lane four neighbouring channels of every
/// item; the 32 / group groups of a warp hold different rows, so that short rows keep all lanes
/// busy. Sums run in a fixed order.

#include <cstdint>

#include "common/kernels/bfloat16_cuda.h"
#include "common/kernels/launch.h"

namespace interlacer {

inline constexpr int kChannelsOfALane = 4;
inline constexpr int kChannelsOfAWarp = kChannelsOfALane * kWarpLanes;

/// Number of lanes that share a row of `width` channels.
inline int GroupLanes(int width) {
  int group = 1;
  while (group < kWarpLanes && group * kChannelsOfALane < width) group *= 2;
  return group;
}

inline bool IsAligned16(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}

/// Position of a lane among the groups of its warp.
struct GroupLane {
  int group;   ///< lanes in a group
  int groups;  ///< groups in a warp
  int which;   ///< the lane's group
  int member;  ///< the lane's index in the group
};
__device__ inline GroupLane ThisGroupLane(int group) {
  const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
  return {group, kWarpLanes / group, lane / group, lane % group};
}

/// The part of a row that one lane holds: channels 4 (member + group * item) to + 3.
template <int kItems>
struct RowPart {
  float value[kItems][kChannelsOfALane];
};

__device__ inline int FirstChannel(const GroupLane& lane, int item) {
  return kChannelsOfALane * (lane.member + lane.group * item);
}

template <int kItems>
__device__ inline RowPart<kItems> ZeroRow() {
  RowPart<kItems> part;
  for (int item = 0; item < kItems; ++item) {
    for (int c = 0; c < kChannelsOfALane; ++c) part.value[item][c] = 0;
  }
  return part;
}

/// phi(x) of attention; NaN stays NaN.
__device__ inline float ReluFeature(float x, float epsilon) { return (x < 0 ? 0 : x) + epsilon; }

/// Loads four neighbouring numbers at once, 16 or 8 bytes.
__device__ inline void LoadFour(const float* from, float* to) {
  const float4 four = *reinterpret_cast<const float4*>(from);
  to[0] = four.x;
  to[1] = four.y;
  to[2] = four.z;
  to[3] = four.w;
}
__device__ inline void LoadFour(const std::uint16_t* from, float* to) {
  const ushort4 four = *reinterpret_cast<const ushort4*>(from);
  to[0] = ToFloat(four.x);
  to[1] = ToFloat(four.y);
  to[2] = ToFloat(four.z);
  to[3] = ToFloat(four.w);
}

/// Loads a row; channels from `width` on are 0. kAligned: rows are aligned to four numbers and
/// width is a multiple of four.
template <int kItems, bool kAligned, typename Stored>
__device__ inline RowPart<kItems> LoadRow(const Stored* row, int width, const GroupLane& lane) {
  RowPart<kItems> part = ZeroRow<kItems>();
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int first = FirstChannel(lane, item);
    if constexpr (kAligned) {
      if (first < width) LoadFour(row + first, part.value[item]);
    } else {
#pragma unroll
      for (int c = 0; c < kChannelsOfALane; ++c) {
        if (first + c < width) part.value[item][c] = ToFloat(row[first + c]);
      }
    }
  }
  return part;
}

template <int kItems, bool kAligned>
__device__ inline void StoreRow(const RowPart<kItems>& part, int width, const GroupLane& lane,
                                float* row) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
    const int first = FirstChannel(lane, item);
    const float* const from = part.value[item];
    if constexpr (kAligned) {
      if (first < width) {
        float4 four;
        four.x = from[0];
        four.y = from[1];
        four.z = from[2];
        four.w = from[3];
        *reinterpret_cast<float4*>(row + first) = four;
      }
    } else {
#pragma unroll
      for (int c = 0; c < kChannelsOfALane; ++c) {
        if (first + c < width) row[first + c] = from[c];
      }
    }
  }
}

template <int kItems>
__device__ inline float DotPart(const RowPart<kItems>& a, const RowPart<kItems>& b) {
  float sum = 0;
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) sum += a.value[item][c] * b.value[item][c];
  }
  return sum;
}

template <int kItems>
__device__ inline void AddScaledRow(float scale, const RowPart<kItems>& x, RowPart<kItems>& sum) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) sum.value[item][c] += scale * x.value[item][c];
  }
}

/// Sum over the lanes of each group; every lane gets it.
__device__ inline float SumOverGroup(float value, int group) {
  for (int step = group / 2; step > 0; step /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, step);
  }
  return value;
}

/// Sum over the groups of lanes with the same index in their group.
__device__ inline float SumOverGroups(float value, int group) {
  for (int step = kWarpLanes / 2; step >= group; step /= 2) {
    value += __shfl_xor_sync(kWholeWarp, value, step);
  }
  return value;
}

template <int kItems>
__device__ inline void SumRowOverGroups(int group, RowPart<kItems>& part) {
#pragma unroll
  for (int item = 0; item < kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) {
      part.value[item][c] = SumOverGroups(part.value[item][c], group);
    }
  }
}

}  // namespace interlacer
