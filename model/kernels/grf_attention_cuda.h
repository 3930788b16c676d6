#pragma once

/// CUDA form of model/kernels/grf_attention.h: the same formulas and arrays in float32, pointers on
/// the current device.
///
/// Widths above kMaxGrfCudaWidth are refused with cudaErrorInvalidValue. Determinism: no atomics,
/// every sum has a fixed order: equal calls give equal bits. Rows of a multiple of four channels on
/// 16-byte boundaries are read fastest. Contract: common/kernels/cuda.h.

#include <cstdint>

#include "common/kernels/cuda.h"
#include "model/kernels/grf_attention.h"

namespace interlacer {

inline constexpr int kMaxGrfCudaWidth = 256;

CudaError LaunchGrfForward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                           const GrfInputs<float>& inputs, const GrfEpsilons& epsilons, float* out,
                           float* normalizer, CudaStream stream);
CudaError LaunchWeightedGrfForward(const GrfShape& shape, const GrfWeightedPairs<float>& pairs,
                                   const GrfInputs<float>& inputs, const GrfEpsilons& epsilons,
                                   float* out, float* normalizer, CudaStream stream);

/// Number of floats of scratch memory that the backward pass needs for up to `max_pairs` pairs.
std::int64_t GrfCudaBackwardScratchCount(std::int64_t n, std::int64_t max_pairs);

/// Pass 1 over rows writes the gradients of q and of the weights and two numbers for each pair;
/// pass 2 over end nodes writes the gradients of k and v. The number of pairs is read on the
/// device.
CudaError LaunchGrfBackward(const GrfShape& shape, const GrfPackedPairs<float>& pairs,
                            const GrfTransposedPairs& transposed, std::int64_t max_pairs,
                            const GrfInputs<float>& inputs, const GrfSaved<float>& saved,
                            const GrfEpsilons& epsilons, const GrfGradients<float>& gradients,
                            float* scratch, CudaStream stream);
CudaError LaunchWeightedGrfBackward(const GrfShape& shape, const GrfWeightedPairs<float>& pairs,
                                    const GrfTransposedPairs& transposed, std::int64_t max_pairs,
                                    const GrfInputs<float>& inputs, const GrfSaved<float>& saved,
                                    const GrfEpsilons& epsilons,
                                    const GrfGradients<float>& gradients, float* scratch,
                                    CudaStream stream);

}  // namespace interlacer
