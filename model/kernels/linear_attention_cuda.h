#pragma once

/// CUDA form of model/kernels/linear_attention.h: the same formulas and arrays in float32, pointers
/// on the current device.
///
/// A stream is an opaque cudaStream_t. Functions return a cudaError_t, 0 being success; heads wider
/// than kMaxLinearCudaWidth are refused with cudaErrorInvalidValue. Nothing allocates, waits, or
/// runs on the default stream. Determinism: the state is summed in tiles of kLinearCudaTile tokens
/// that are added in index order, without atomics: equal calls give equal bits.

#include <cstdint>

#include "model/kernels/linear_attention.h"

namespace interlacer {

inline constexpr int kMaxLinearCudaWidth = 64;
inline constexpr std::int64_t kLinearCudaTile = 512;

/// Number of floats of scratch memory that either pass needs.
std::int64_t LinearCudaScratchCount(const LinearAttentionShape& shape);

int LaunchLinearAttentionForward(const LinearAttentionShape& shape,
                                 const LinearAttentionInputs<float>& inputs,
                                 const LinearAttentionEpsilons& epsilons,
                                 const LinearAttentionOutputs<float>& outputs, float* scratch,
                                 void* stream);

int LaunchLinearAttentionBackward(const LinearAttentionShape& shape,
                                  const LinearAttentionInputs<float>& inputs,
                                  const LinearAttentionSaved<float>& saved,
                                  const LinearAttentionEpsilons& epsilons,
                                  const LinearAttentionGradients<float>& gradients, float* scratch,
                                  void* stream);

}  // namespace interlacer
