#pragma once

/// CUDA form of model/kernels/linear_attention.h: the same formulas and arrays in float32, pointers
/// on the current device.
///
/// Heads wider than kMaxLinearCudaWidth are refused with cudaErrorInvalidValue. Determinism: the
/// state is summed in tiles of kLinearCudaTile tokens that are added in index order, without
/// atomics: equal calls give equal bits. Contract: common/kernels/cuda.h.

#include <cstdint>

#include "common/kernels/cuda.h"
#include "model/kernels/linear_attention.h"

namespace interlacer {

inline constexpr int kMaxLinearCudaWidth = 64;
inline constexpr std::int64_t kLinearCudaTile = 512;

/// Number of floats of scratch memory that either pass needs.
std::int64_t LinearCudaScratchCount(const LinearAttentionShape& shape);

CudaError LaunchLinearAttentionForward(const LinearAttentionShape& shape,
                                       const LinearAttentionInputs<float>& inputs,
                                       const LinearAttentionEpsilons& epsilons,
                                       const LinearAttentionOutputs<float>& outputs, float* scratch,
                                       CudaStream stream);

CudaError LaunchLinearAttentionBackward(const LinearAttentionShape& shape,
                                        const LinearAttentionInputs<float>& inputs,
                                        const LinearAttentionSaved<float>& saved,
                                        const LinearAttentionEpsilons& epsilons,
                                        const LinearAttentionGradients<float>& gradients,
                                        float* scratch, CudaStream stream);

}  // namespace interlacer
