#pragma once

/// Numbers of bfloat16 as a CUDA kernel reads them: bits widened to float32, which is exact.
/// Rounding to bfloat16 is RoundPair of common/kernels/tensor_core.h. Only .cu files include it.

#include <cstdint>

#include "common/kernels/launch.h"

namespace interlacer {

/// Converts a stored number: a float, or the bits of a bfloat16.
__device__ inline float ToFloat(float x) { return x; }
__device__ inline float ToFloat(std::uint16_t bits) {
  return __uint_as_float(static_cast<unsigned>(bits) << 16);
}

/// The first and the second number of a pair.
__device__ inline float LowHalf(std::uint32_t pair) { return __uint_as_float(pair << 16); }
__device__ inline float HighHalf(std::uint32_t pair) { return __uint_as_float(pair & 0xFFFF0000u); }

}  // namespace interlacer
