#pragma once

/// Emulated form of common/kernels/tensor_core.h: lanes exchange their operands, and each computes
/// its own four sums.

#include <cuda_runtime.h>

#include <cstdint>

#include "common/kernels/bfloat16.h"

namespace interlacer {

inline float Bf16Half(std::uint64_t pair, int half) {
  return FromBfloat16(static_cast<std::uint16_t>(pair >> 16 * half));
}

inline void MultiplyAdd(float (&sums)[4], const std::uint32_t (&left)[4], std::uint32_t right_low,
                        std::uint32_t right_high) {
  constexpr unsigned kAll = 0xFFFFFFFFu;
  constexpr int kLanes = 32, kDepth = 16, kRows = 16, kColumns = 8;
  float a[kRows][kDepth], b[kDepth][kColumns];
  for (int half = 0; half < 2; ++half) {  // columns of left, rows of right
    const std::uint64_t* rows =
        emulation::Exchange(kAll, left[2 * half] | std::uint64_t{left[2 * half + 1]} << 32);
    for (int lane = 0; lane < kLanes; ++lane) {
      for (int x = 0; x < 2; ++x) {
        const int depth = 8 * half + 2 * (lane % 4) + x;
        a[lane / 4][depth] = Bf16Half(rows[lane], x);
        a[lane / 4 + 8][depth] = Bf16Half(rows[lane] >> 32, x);
      }
    }
  }
  const std::uint64_t* columns =
      emulation::Exchange(kAll, right_low | std::uint64_t{right_high} << 32);
  for (int lane = 0; lane < kLanes; ++lane) {
    for (int x = 0; x < 4; ++x) {
      b[8 * (x / 2) + 2 * (lane % 4) + x % 2][lane / 4] =
          Bf16Half(columns[lane] >> 32 * (x / 2), x % 2);
    }
  }
  const int lane = emulation::Lane();
  for (int s = 0; s < 4; ++s) {
    float sum = 0;
    for (int d = 0; d < kDepth; ++d) {
      sum += a[lane / 4 + 8 * (s / 2)][d] * b[d][2 * (lane % 4) + s % 2];
    }
    sums[s] += sum;
  }
}

inline std::uint32_t RoundPair(float low, float high) {
  return ToBfloat16(low) | std::uint32_t{ToBfloat16(high)} << 16;
}

inline std::uint32_t RoundPositivePair(float low, float high) {
  return RoundPair(low < 0 ? 0 : low, high < 0 ? 0 : high);
}

}  // namespace interlacer
