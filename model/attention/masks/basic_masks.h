#pragma once

/// Masks given as they are: entry by entry, as a list of entries, and as products of two factors.
///
/// Thread-safety: const. Source: grf-masking, Alg. 1 (factors); gkat, Sec. 3.4 (low rank).

#include <torch/types.h>

#include "model/attention/core/mask.h"

namespace interlacer::attention {

/// [1 or H,L,L]; dense only.
MaskPtr MakeDenseMask(torch::Tensor entries);
/// Dense, fastmult and pairs.
MaskPtr MakePairMask(MaskPairs pairs);
/// M = left right^T of rank r; dense, fastmult and features. O(L r) for a column.
MaskPtr MakeFactorMask(MaskFactors factors);
/// M = left right^T, both sparse: dense, fastmult, pairs and features. The pairs are those (i,j)
/// whose rows share a column; RESOURCE_EXHAUSTED HOST_MEMORY where they share more than
/// kMaxSharedColumns.
MaskPtr MakeSparseFactorMask(SparseFactors factors);

/// Terms of left right^T: pairs of entries that share a column.
std::int64_t SharedColumns(const SparseFactors& factors);

/// Tokens of equal segment see each other: dense, fastmult and features, sums by segment. segments:
/// [L] int64 ids >= 0; `like` gives type and device.
MaskPtr MakeSegmentMask(const torch::Tensor& segments, const torch::Tensor& like);

/// `inner` with class tokens before its own: their rows and columns are 1. The ways of `inner`.
MaskPtr WithClassTokens(MaskPtr inner, std::int64_t class_tokens, const torch::Tensor& like);

inline constexpr std::int64_t kMaxSharedColumns = std::int64_t{1} << 27;

}  // namespace interlacer::attention
