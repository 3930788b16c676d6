#pragma once

/// Products of small bfloat16 matrices by a whole warp, with sums in float32. Only .cu files
/// include it; where CUDA is emulated, its twin of the same path replaces it.
///
/// Lane 4 g + t holds, as pairs of bfloat16 numbers with the lower index in the lower half:
///   left [16,16]    rows g, g + 8 at columns 2t; rows g, g + 8 at columns 2t + 8
///   right [16,8]    column g at rows 2t; at rows 2t + 8
///   sums [16,8]     row g at columns 2t, 2t + 1; row g + 8 at the same
/// so that two neighbouring sums, rounded, are the left side of the next product.

#include <cuda_runtime.h>

#include <cstdint>

namespace interlacer {

/// sums += left * right
__device__ inline void MultiplyAdd(float (&sums)[4], const std::uint32_t (&left)[4],
                                   std::uint32_t right_low, std::uint32_t right_high) {
  // Volatile: no compiler may sink it below a branch that only some lanes take.
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(left[0]), "r"(left[1]), "r"(left[2]), "r"(left[3]), "r"(right_low), "r"(right_high));
}

/// The bits of two bfloat16 numbers, rounded to nearest even; NaN stays NaN.
__device__ inline std::uint32_t RoundPair(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

/// RoundPair with negative numbers replaced by 0, as ReLU does.
__device__ inline std::uint32_t RoundPositivePair(float low, float high) {
  std::uint32_t pair;
  asm("cvt.rn.relu.bf16x2.f32 %0, %1, %2;\n" : "=r"(pair) : "f"(high), "f"(low));
  return pair;
}

}  // namespace interlacer
