#pragma once

/// Dense layers around local attention, fused into few launches on tensor cores: the CUDA form of
/// model/kernels/fused_dense.h.
///
///   h [n,width] float32, updated in place in a range of rows; width is 64, 128 or 256
/// Rounding: inputs of a product and its weights to bfloat16 (nearest even), sums and residuals in
/// float32, GELU within 1e-4 of x Phi(x). NaN stays in its row. Weights come packed
/// (model/kernels/dense_pack_cuda.h); biases and norms in float32; arrays stand on boundaries of 16
/// bytes. Determinism: rows do not mix and every sum has a fixed order: equal calls give equal
/// bits. Contract: common/kernels/cuda.h; also cudaErrorInvalidValue where a block cannot have the
/// shared memory that a width needs.

#include <cstdint>

#include "common/kernels/cuda.h"
#include "model/kernels/fused_dense.h"
#include "model/kernels/grf_attention.h"
#include "model/kernels/row_range.h"

namespace interlacer {

/// Largest shared memory of a block, for each column of h: 40, 80 or 160 KB in total.
inline constexpr int kFusedSharedBytesOfAColumn = 640;

/// Whether there are kernels for the width and the current device has the memory for their blocks.
bool FitsFusedCuda(int width);

/// h += second(GELU(first(LN h))); packed by LaunchPackDensePair with pieces of kDensePiece. The
/// layers are absent when `packed` is null.
struct FeedForwardLayers {
  RowNorm norm;
  const std::uint16_t* packed = nullptr;
  const float* first_bias = nullptr;
  const float* second_bias = nullptr;
  int hidden_width = 0;  ///< a multiple of kDensePiece
};

CudaError LaunchAddFeedForward(const RowRange& rows, int width, const FeedForwardLayers& layers,
                               float* h, CudaStream stream);

/// Query, key and value layers, packed by LaunchPackProjections; biases [width].
struct GrfProjections {
  RowNorm norm;
  const std::uint16_t* packed = nullptr;
  const float* query_bias = nullptr;
  const float* key_bias = nullptr;
  const float* value_bias = nullptr;
};

/// Computes the inputs of model/kernels/packed_grf_cuda.h from h: q [n,width] = query(LN h), at
/// least for the rows of `queries`, and packed rows [n,2 width] of phi(key(LN h)) and value(LN h).
CudaError LaunchGrfProjections(std::int64_t n, int width, const RowRange& queries,
                               const GrfProjections& layers, const GrfEpsilons& epsilons,
                               const float* h, std::uint16_t* q, std::uint16_t* packed_rows,
                               CudaStream stream);

/// The output layer of attention, packed by LaunchPackDenseByInputs.
struct OutputLayer {
  const std::uint16_t* packed = nullptr;
  const float* bias = nullptr;
};

/// h += out(mixed), mixed [n,width] bfloat16, then the feed-forward layers.
CudaError LaunchAddMixed(const RowRange& rows, int width, const OutputLayer& out,
                         const std::uint16_t* mixed, const FeedForwardLayers& layers, float* h,
                         CudaStream stream);

}  // namespace interlacer
