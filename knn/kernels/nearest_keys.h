#pragma once

/// Lists of nearest candidates in registers: one list per thread, and its merge over the lanes of a
/// warp. Only .cu files include it.

#include <climits>
#include <cmath>
#include <cstdint>

#include "common/kernels/distance_key.h"
#include "common/kernels/launch.h"

namespace interlacer {

/// A point and its index in the cloud in one 16-byte word.
struct __align__(16) SortedPoint {
  float x, y, z;
  std::int32_t index;
};

/// Each number of neighbours up to this one has a kernel of its own; larger numbers share one.
inline constexpr int kMostExactNeighbors = 4;

/// The best candidates so far, in registers. kCapacity are wanted, or fewer above
/// kMostExactNeighbors.
template <int kCapacity>
struct Best {
  std::uint64_t keys[kCapacity];
  std::uint64_t worst;  ///< of the `count` that are wanted
  int count;

  __device__ explicit Best(int wanted)
      : worst(SortKey(INFINITY, INT_MAX)),
        count(kCapacity <= kMostExactNeighbors ? kCapacity : wanted) {
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) keys[r] = worst;
  }

  __device__ float worst_sq_dist() const { return KeySqDist(worst); }

  /// Key r becomes min(key r, max(new key, key r - 1)).
  __device__ void Insert(std::uint64_t key) {
    if (key >= worst) return;
#pragma unroll
    for (int r = kCapacity - 1; r >= 0; --r) {
      const std::uint64_t before = r > 0 ? keys[r > 0 ? r - 1 : 0] : 0;
      const std::uint64_t larger = key > before ? key : before;
      keys[r] = keys[r] < larger ? keys[r] : larger;
      if (kCapacity > kMostExactNeighbors && r == count - 1) worst = keys[r];
    }
    if (kCapacity <= kMostExactNeighbors) worst = keys[kCapacity - 1];
  }

  /// Writes the row of the query. The query itself stands in for missing candidates; points at a
  /// distance of NaN are never candidates.
  __device__ void WriteTo(std::int32_t query, std::int32_t* neighbors) const {
    std::int32_t* const row = neighbors + static_cast<std::int64_t>(query) * count;
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) {
      const auto index = static_cast<std::int32_t>(static_cast<std::uint32_t>(keys[r]));
      if (r < count) row[r] = index == INT_MAX ? query : index;
    }
  }

  /// Inserts a point. The query itself gets a key after all others instead of a branch, so that
  /// loads of the next points are not delayed.
  __device__ void Look(const SortedPoint& query, const SortedPoint& other) {
    const float dx = __fsub_rn(other.x, query.x);
    const float dy = __fsub_rn(other.y, query.y);
    const float dz = __fsub_rn(other.z, query.z);
    const std::uint64_t key = SortKey(__fmaf_rn(dz, dz, __fmaf_rn(dy, dy, __fmul_rn(dx, dx))),
                                      static_cast<std::uint32_t>(other.index));
    Insert(other.index == query.index ? ~std::uint64_t{0} : key);
  }

  /// Every lane gets the best of all lanes' candidates, which are different ones.
  __device__ void MergeInWarp() {
    for (int apart = 1; apart < kWarpLanes; apart *= 2) {
      std::uint64_t others[kCapacity];
#pragma unroll
      for (int r = 0; r < kCapacity; ++r) {
        others[r] = __shfl_xor_sync(kWholeWarp, keys[r], apart);
      }
      if constexpr (kCapacity <= kMostExactNeighbors) {
#pragma unroll
        for (int r = 0; r < kCapacity; ++r) Insert(others[r]);
      } else {
        Merge(others);
      }
    }
  }

  /// The best of two sorted lists, sorted, by a bitonic merge: the smaller of each list's key and
  /// the other's from the far end, then log2(kCapacity) passes. Unrolled insertions would be
  /// kCapacity^2 steps, which nvcc also takes long to compile.
  __device__ void Merge(const std::uint64_t (&others)[kCapacity]) {
    static_assert((kCapacity & (kCapacity - 1)) == 0);
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) {
      const std::uint64_t other = others[kCapacity - 1 - r];
      keys[r] = keys[r] < other ? keys[r] : other;
    }
#pragma unroll
    for (int half = kCapacity / 2; half > 0; half /= 2) {
#pragma unroll
      for (int r = 0; r < kCapacity; ++r) {
        if ((r & half) != 0) continue;
        const std::uint64_t low = keys[r], high = keys[r + half];
        keys[r] = low < high ? low : high;
        keys[r + half] = low < high ? high : low;
      }
    }
#pragma unroll
    for (int r = 0; r < kCapacity; ++r) {
      if (r == count - 1) worst = keys[r];
    }
  }
};

}  // namespace interlacer
