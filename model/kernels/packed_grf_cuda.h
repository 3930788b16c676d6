#pragma once

/// GRF attention for inference, CUDA only: the forward formulas of model/kernels/grf_attention.h on
/// bfloat16 rows that hold a token's key and value together, so that one load of 16 bytes a lane
/// brings four channels of both.
///
///   q       [n,width]   bfloat16
///   packed  [n,2 width] bfloat16, phi(k) and v by groups of four channels: k0-3, v0-3, k4-7, ...
///   out     [n,width]   bfloat16; normalizer [n] float32, or null
/// width is 32, 64, 128 or 256 for keys and values alike; arrays are aligned to 16 bytes. Rounding:
/// phi(k) and v when they are packed, and the result to bfloat16; weights, scores and sums are
/// float32. NaN in a key or value reaches exactly the queries that list its token.
///
/// Other widths are refused with cudaErrorInvalidValue. Determinism: no atomics, every sum has a
/// fixed order: equal calls give equal bits. Contract: common/kernels/cuda.h.

#include <cstdint>

#include "common/kernels/cuda.h"
#include "model/kernels/grf_attention.h"
#include "model/kernels/row_range.h"

namespace interlacer {

bool FitsPackedGrf(int width);

struct PackedGrfShape {
  std::int64_t n = 0;
  int width = 0;
  RowRange queries;  ///< results of other queries are not written
};

struct PackedGrfInputs {
  const std::uint16_t* q = nullptr;
  const std::uint16_t* packed = nullptr;
};

struct PackedGrfOutputs {
  std::uint16_t* out = nullptr;
  float* normalizer = nullptr;
};

CudaError LaunchPackedGrf(const PackedGrfShape& shape, const GrfPackedPairs<float>& pairs,
                          const PackedGrfInputs& inputs, const GrfEpsilons& epsilons,
                          const PackedGrfOutputs& outputs, CudaStream stream);

}  // namespace interlacer
