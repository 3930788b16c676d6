#pragma once

/// Attention of one warp for one query of model/kernels/packed_grf_cuda.h. Only .cu files include
/// it.
///
/// A row is shared by kGroup lanes, so that a warp gathers kGroups rows at once: lane `member` of a
/// group holds channels 4 (member + kGroup * item) to + 3 of key and value, one load each.

#include <cstdint>

#include "common/kernels/bfloat16_cuda.h"
#include "common/kernels/launch.h"
#include "common/kernels/tensor_core.h"
#include "model/kernels/grf_attention.h"
#include "model/kernels/warp_rows.h"

namespace interlacer {

template <int kItems_, int kGroup_>
struct PackedGrf {
  static constexpr int kItems = kItems_;
  static constexpr int kGroup = kGroup_;
  static constexpr int kGroups = kWarpLanes / kGroup;
  static constexpr int kVectors = kItems * kGroup;  ///< loads of 16 bytes a row
  static constexpr int kWidth = kChannelsOfALane * kVectors;

  /// The part of a packed row that one lane holds.
  struct Part {
    uint4 item[kItems];
  };

  static __device__ Part Load(const uint4* row, int member) {
    Part part;
#pragma unroll
    for (int item = 0; item < kItems; ++item) part.item[item] = row[member + kGroup * item];
    return part;
  }
  static __device__ float DotKey(const RowPart<kItems>& phi_q, const Part& part) {
    float sum = 0;
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      const float* const q = phi_q.value[item];
      sum += q[0] * LowHalf(part.item[item].x);
      sum += q[1] * HighHalf(part.item[item].x);
      sum += q[2] * LowHalf(part.item[item].y);
      sum += q[3] * HighHalf(part.item[item].y);
    }
    return sum;
  }
  static __device__ void AddValue(float scale, const Part& part, RowPart<kItems>& sum) {
#pragma unroll
    for (int item = 0; item < kItems; ++item) {
      float* const to = sum.value[item];
      to[0] += scale * LowHalf(part.item[item].z);
      to[1] += scale * HighHalf(part.item[item].z);
      to[2] += scale * LowHalf(part.item[item].w);
      to[3] += scale * HighHalf(part.item[item].w);
    }
  }

  /// Adds up the rows of all groups; a lane ends with the sums of items kept_first to kept_first +
  /// kKept - 1. Where several groups end with the same items, `writes` is true for the first of
  /// them.
  struct Fold {
    int kept_first = 0;
    bool writes = true;
  };
  static constexpr int kKept = kItems > kGroups ? kItems / kGroups : 1;
  static __device__ Fold FoldGroups(RowPart<kItems>& row) {
    Fold fold;
    int items = kItems;
    const int lane = static_cast<int>(threadIdx.x) % kWarpLanes;
#pragma unroll
    for (int step = kWarpLanes / 2; step >= kGroup; step /= 2) {
      const bool upper = (lane & step) != 0;
      if (items == 1) {
#pragma unroll
        for (int c = 0; c < kChannelsOfALane; ++c) {
          row.value[0][c] += __shfl_xor_sync(kWholeWarp, row.value[0][c], step);
        }
        fold.writes = fold.writes && !upper;
        continue;
      }
      items /= 2;
#pragma unroll
      for (int item = 0; item < kItems / 2; ++item) {
        if (item >= items) continue;
#pragma unroll
        for (int c = 0; c < kChannelsOfALane; ++c) {
          const float low = row.value[item][c];
          const float high = row.value[item + items][c];
          const float other = __shfl_xor_sync(kWholeWarp, upper ? low : high, step);
          row.value[item][c] = (upper ? high : low) + other;
        }
      }
      fold.kept_first += upper ? items : 0;
    }
    return fold;
  }
};

__device__ inline void StoreFour(const float (&x)[kChannelsOfALane], float scale,
                                 std::uint16_t* to) {
  *reinterpret_cast<uint2*>(to) =
      uint2{RoundPair(scale * x[0], scale * x[1]), RoundPair(scale * x[2], scale * x[3])};
}

/// Pairs of one query, 32 at a time: each lane loads one and passes it to the group that handles
/// it.
struct QueryPairs {
  const std::uint32_t* entries;
  const float* table;  ///< in shared memory
};

/// Computes attention for query i.
template <typename Form>
__device__ inline void AttendForQuery(std::int64_t i, std::int32_t begin, std::int32_t end,
                                      const QueryPairs& pairs, const std::uint16_t* q,
                                      const uint4* packed, float epsilon, float delta,
                                      std::uint16_t* out, float* normalizer) {
  const GroupLane lane = ThisGroupLane(Form::kGroup);
  const int me = static_cast<int>(threadIdx.x) % kWarpLanes;
  auto phi_q = LoadRow<Form::kItems, true>(q + i * Form::kWidth, Form::kWidth, lane);
#pragma unroll
  for (int item = 0; item < Form::kItems; ++item) {
#pragma unroll
    for (int c = 0; c < kChannelsOfALane; ++c) {
      phi_q.value[item][c] = ReluFeature(phi_q.value[item][c], epsilon);
    }
  }
  auto sums = ZeroRow<Form::kItems>();
  float sum = 0;
  for (std::int32_t first = begin; first < end; first += kWarpLanes) {
    const int count = end - first < kWarpLanes ? end - first : kWarpLanes;
    const std::uint32_t word = me < count ? pairs.entries[first + me] : 0;
    const float my_weight = me < count ? pairs.table[word >> kWalkCodeShift] : 0;
    const auto my_node = static_cast<std::int32_t>(word & kWalkNodeMask);
    const auto load = [&](int round) {
      // Groups without a pair of their own repeat the last one with weight zero, which saves a
      // branch.
      const int pair = round * Form::kGroups + lane.which;
      const int from = pair < count ? pair : count - 1;
      const std::int64_t node = __shfl_sync(kWholeWarp, my_node, from);
      return Form::Load(packed + node * Form::kVectors, lane.member);
    };
    const int rounds = (count + Form::kGroups - 1) / Form::kGroups;
    auto next = load(0);
#pragma unroll 2  // so that rows need not be moved between registers
    for (int round = 0; round < rounds; ++round) {
      const auto part = next;
      next = load(round + 1);  // after the last round the last row again, which saves a branch
      const int pair = round * Form::kGroups + lane.which;
      const float score = SumOverGroup(Form::DotKey(phi_q, part), Form::kGroup);
      const float weight = __shfl_sync(kWholeWarp, my_weight, pair) * score;
      sum += weight;
      Form::AddValue(weight, part, sums);
    }
  }
  sum = delta + SumOverGroups(sum, Form::kGroup);
  const float scale = sum == 0 ? 0 : 1 / sum;
  const typename Form::Fold fold = Form::FoldGroups(sums);
  if (normalizer != nullptr && me == 0) normalizer[i] = sum;
  if (!fold.writes) return;
#pragma unroll
  for (int item = 0; item < Form::kKept; ++item) {
    StoreFour(sums.value[item], scale,
              out + i * Form::kWidth + FirstChannel(lane, fold.kept_first + item));
  }
}

}  // namespace interlacer
