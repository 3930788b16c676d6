#pragma once

/// ReLU linear attention for inference on heads of many channels, CUDA only: the forward formula of
/// model/kernels/linear_attention.h on tensor cores.
///
///   q, k, v, out  [n, heads * head_width] bfloat16, on boundaries of 16 bytes
/// head_width is a multiple of 32, at most kMaxWideLinearHead; there is no key mask.
/// Rounding: phi(q), phi(k), the states and the result to bfloat16; sums in float32. NaN in a key
/// or value reaches every token. Three launches: states of tiles of tokens, their sum, results.
///
/// A stream is an opaque cudaStream_t. Functions return a cudaError_t, 0 being success; other
/// shapes are refused with cudaErrorInvalidValue. Nothing allocates, waits, or runs on the default
/// stream. Determinism: no atomics, every sum has a fixed order: equal calls give equal bits.

#include <cstdint>

#include "model/kernels/linear_attention.h"

namespace interlacer {

inline constexpr int kMaxWideLinearHead = 1024;

bool FitsWideLinear(const LinearAttentionShape& shape);

/// Number of float that the launches need as scratch memory, on a boundary of 16 bytes.
std::int64_t WideLinearScratchCount(const LinearAttentionShape& shape);

int LaunchWideLinearAttention(const LinearAttentionShape& shape, const std::uint16_t* q,
                              const std::uint16_t* k, const std::uint16_t* v,
                              const LinearAttentionEpsilons& epsilons, float* scratch,
                              std::uint16_t* out, void* stream);

}  // namespace interlacer
