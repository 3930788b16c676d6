#pragma once

/// The four ways to compute D^-1 (M * A) V, given scores and a mask.
///
/// Shapes: features [B,H,L,m], v [B,H,L,dv], out [B,H,L,dv]. `mask` null: all ones. A row whose
/// weights sum to exactly zero is zero; masks see to it that the products of theirs that round do
/// so (masks/toeplitz.h). Time and memory: dense O(L^2 (m + dv)) and O(L^2); fastmult products of m
/// (dv + 1) columns, in tiles of at most kTileColumns, so that memory is O(L kTileColumns) without
/// gradients; pairs O(nnz (m + dv)) and O(nnz); features O(nnz m dv) and O(nnz m + L m dv), or for
/// factors of rank r O(L r m dv) and O(L (m + dv)). Without a mask, features is linear attention,
/// O(L m dv). Errors: torch's. Thread-safety: pure functions. Source: gkat, Alg. 1; grf-masking,
/// Alg. 1 and 2; linear-attention, Eq. 6.

#include <torch/types.h>

#include "model/attention/core/inputs.h"
#include "model/attention/core/mask.h"
#include "model/attention/core/scores.h"

namespace interlacer::attention {

/// Columns of one fast product, of all batches and heads together.
inline constexpr std::int64_t kTileColumns = 256;

/// num / (den + delta), and 0 where that is 0.
torch::Tensor Normalised(const torch::Tensor& numerator, const torch::Tensor& denominator,
                         double delta = 0);

/// weight exp(shifted), where shifted is at most 0 for pairs of a weight that is not 0. It is any
/// logit for others: exp of it, cut far below overflow, is the gradient to their weight, but where
/// `kept` is 0, which is padding.
torch::Tensor WeightedExponentials(const torch::Tensor& shifted, const torch::Tensor& weight,
                                   const torch::Tensor& kept);
/// Weights [B,H,L,L], not yet normalised.
torch::Tensor AttendByWeights(const torch::Tensor& weights, const torch::Tensor& v,
                              double delta = 0);
/// M exp(logits - row maximum) with masked keys 0. M >= 0.
torch::Tensor SoftmaxWeights(const torch::Tensor& logits, const AttentionInputs& inputs,
                             const torch::Tensor& mask);
/// Weights M exp(logits); `delta` is added to their sums, whatever is taken out of them on the way.
torch::Tensor AttendByLogits(const torch::Tensor& logits, const AttentionInputs& inputs,
                             const torch::Tensor& mask, double delta);

torch::Tensor AttendDense(const Scores& scores, const AttentionInputs& inputs,
                          const torch::Tensor& mask);
torch::Tensor AttendDense(const Features& features, const torch::Tensor& v,
                          const torch::Tensor& mask);
/// Sums of scores times mask times values, row by row: [B,H,L,C] of values [B,H,L,C].
torch::Tensor SumsByProducts(const Features& features, const torch::Tensor& values,
                             const Mask& mask);
torch::Tensor AttendFastmult(const Features& features, const torch::Tensor& v, const Mask& mask);
torch::Tensor AttendPairs(const Scores& scores, const AttentionInputs& inputs,
                          const MaskPairs& pairs);
torch::Tensor AttendPairs(const Features& features, const torch::Tensor& v, const MaskPairs& pairs);
/// Weights w exp(logit) of every pair; logits [B*H,nnz]. delta as in AttendByLogits.
torch::Tensor AttendPairLogits(const torch::Tensor& logits, const AttentionInputs& inputs,
                               const MaskPairs& pairs, double delta);
torch::Tensor AttendFeatures(const Features& features, const torch::Tensor& v, const Mask* mask);

/// The way `way` of `mask`, or without a mask.
torch::Tensor Attend(Way way, const Scores& scores, const AttentionInputs& inputs,
                     const Mask* mask);
torch::Tensor Attend(Way way, const Features& features, const torch::Tensor& v, const Mask* mask);

}  // namespace interlacer::attention
