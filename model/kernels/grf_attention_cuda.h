#pragma once

/// CUDA form of model/kernels/grf_attention.h: the same formulas and arrays in float32, pointers on
/// the current device.
///
/// A stream is an opaque cudaStream_t. Functions return a cudaError_t, 0 being success; widths
/// above kMaxGrfCudaWidth are refused with cudaErrorInvalidValue. Nothing allocates, waits, or runs
/// on the default stream. Determinism: no atomics, every sum has a fixed order: equal calls give
/// equal bits. Rows of a multiple of four channels on 16-byte boundaries are read fastest.

#include <cstdint>

#include "model/kernels/grf_attention.h"

namespace interlacer {

inline constexpr int kMaxGrfCudaWidth = 256;

int LaunchGrfAttentionForward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                              const GrfInputs<float>& inputs, const GrfEpsilons& epsilons,
                              float* out, float* normalizer, void* stream);
int LaunchGrfAttentionForward(const GrfShape& shape, const GrfWeightedPairs<float>& pairs,
                              const GrfInputs<float>& inputs, const GrfEpsilons& epsilons,
                              float* out, float* normalizer, void* stream);

/// q, k and v as bfloat16 bits; arithmetic, weights and results in float32.
int LaunchGrfAttentionForward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                              const GrfInputs<std::uint16_t>& bf16_inputs,
                              const GrfEpsilons& epsilons, float* out, float* normalizer,
                              void* stream);

/// Number of floats of scratch memory that the backward pass needs for up to `max_pairs` pairs.
std::int64_t GrfCudaBackwardScratchCount(std::int64_t n, std::int64_t max_pairs);

/// Pass 1 over rows writes the gradients of q and of the weights and two numbers for each pair;
/// pass 2 over end nodes writes the gradients of k and v. The number of pairs is read on the
/// device.
int LaunchGrfAttentionBackward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                               const GrfTransposedPairs& transposed, std::int64_t max_pairs,
                               const GrfInputs<float>& inputs, const GrfSaved<float>& saved,
                               const GrfEpsilons& epsilons, const GrfGradients<float>& gradients,
                               float* scratch, void* stream);
int LaunchGrfAttentionBackward(const GrfShape& shape, const GrfWeightedPairs<float>& pairs,
                               const GrfTransposedPairs& transposed, std::int64_t max_pairs,
                               const GrfInputs<float>& inputs, const GrfSaved<float>& saved,
                               const GrfEpsilons& epsilons, const GrfGradients<float>& gradients,
                               float* scratch, void* stream);

}  // namespace interlacer
