#pragma once

/// Attention in which a token sees itself and those before it, from features of queries and keys.
///
///   out_i = sum over j <= i of g_j+1 ... g_i phi(q_i).phi(k_j) v_j / the same sum without v_j
/// with gates g [B,H,L,1] in [0,1], or without (undefined: all 1). Shapes: masked_attention.h. No
/// row depends on a later token, to the bit; features keep their scales apart for that. Errors:
/// torch's. Thread-safety: pure functions. Source: linear-attention, Eq. 8; gkat, Sec. 3.

#include <torch/types.h>

#include <cstdint>
#include <functional>

#include "model/attention/core/inputs.h"
#include "model/attention/core/options.h"
#include "model/attention/core/scores.h"

namespace interlacer::attention {

/// Entry by entry: O(L^2).
torch::Tensor AttendCausally(const ScaledFeatures& features, const torch::Tensor& v,
                             const torch::Tensor& gates);
/// Features of the tokens from `first` to before `last`: what a token has depends on it alone.
using FeaturesOfTokens = std::function<ScaledFeatures(std::int64_t first, std::int64_t last)>;
/// So many tokens at a time after the sum of those before: O(L m (dv + chunk)). Features are made
/// when their tokens' turn comes, so that without gradients memory is O(m dv + chunk (m + chunk))
/// beside inputs and output.
torch::Tensor AttendCausallyByChunks(const FeaturesOfTokens& features_of, const torch::Tensor& v,
                                     const torch::Tensor& gates, std::int64_t chunk);
/// Ones where j <= i: [1,L,L] of q's type.
torch::Tensor CausalMask(const AttentionInputs& inputs);
OptionSpec ChunkOption();

}  // namespace interlacer::attention
