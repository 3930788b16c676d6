#pragma once

/// Walks that hop with given probabilities, such as those of queries and keys.
///
/// Source: gkat, App. A.5.2 (dynamic walks).

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "model/attention/masks/walk_features.h"

namespace interlacer::attention {

/// Independent walks that hop along entry e with the probability hops[g][e], one matrix for each of
/// `seeds`; hops [G,nnz] float64, sums of rows 1, or 0 where walks end. A load is the share of a
/// token's walks that are at a token after so many hops: an unbiased estimate of the powers of
/// hops, in one pattern, without a gradient. Of `options`: walk_count, max_hops, ensemble. A walk's
/// draws are a function of seed, ensemble and token alone. Thread-safety: pure function.
WalkTerms DrawnTerms(const SparsePattern& pattern, const torch::Tensor& hops,
                     const WalkSamplerOptions& options, const std::vector<std::uint64_t>& seeds);

}  // namespace interlacer::attention
