#pragma once

/// Attention between bfloat16 projections, fused with its norm and residual sum. Inference only.
///
///   h_i += out(Mix(query(LN h), key(LN h), value(LN h))_i)     for the rows i of a range
/// Mix is the ReLU linear attention of model/kernels/linear_attention.h or the masked attention of
/// model/kernels/grf_attention.h, over all n rows. Queries never reach memory; neither do keys and
/// values of the linear form, and its state is folded into the output layer:
///   out(S^T phi(q) / den) = (W_out S^T) (phi(q) / den) + b.
/// Rounding: as model/kernels/fused_dense.h; phi(q) / den, phi(k) and v are also rounded to
/// bfloat16; states, scores, denominators and sums are float32. Determinism: the order of sums
/// depends on n alone, so equal bits for any thread count. Errors: none; the caller checks sizes
/// (CanFuseDense). Threads: as grf_attention.h.

#include <cstdint>

#include "model/kernels/fused_dense.h"
#include "model/kernels/grf_attention.h"
#include "model/kernels/linear_attention.h"
#include "model/kernels/row_range.h"

namespace interlacer {

struct FusedProjections {
  RowNorm norm;
  PackedDense query, key, value;
  const float* out_weight = nullptr;  ///< [width,width] float32
  const float* out_bias = nullptr;
};

/// `head_count` heads of width / head_count. Rows of h outside of `rows` are only read.
void AddLinearAttention(std::int64_t n, const FusedProjections& projections, int head_count,
                        const LinearAttentionEpsilons& epsilons, RowRange rows, float* h,
                        ParallelForFunction parallel_for);

/// Rows may have at most kMaxFusedPairs pairs. `keys_values` is scratch memory of n * (key width +
/// value width) numbers.
inline constexpr int kMaxFusedPairs = 40;
void AddGrfAttention(std::int64_t n, const FusedProjections& projections,
                     const GrfPackedPairs<float>& pairs, const GrfEpsilons& epsilons, RowRange rows,
                     std::uint16_t* keys_values, float* h, ParallelForFunction parallel_for);

}  // namespace interlacer
