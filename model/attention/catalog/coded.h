#pragma once

/// Mechanisms that change queries and keys so that their products are the logits: relative
/// positions by features of places, stochastic codes, smoothing.
///
/// Thread-safety: pure functions. Source: flt, Eq. 3.

#include <torch/types.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "model/attention/catalog/masked.h"

namespace interlacer::attention {

/// [B,H,L,width] each.
struct Codes {
  torch::Tensor q, k;
};

struct CodedParts {
  std::function<NamedTensors(const Options&, const AttentionInputs&)> parameters;
  /// Codes whose products are the logits, softmax's 1 / sqrt d included.
  std::function<Codes(const Options&, const AttentionInputs&)> codes;
  std::function<std::int64_t(const Options&, const AttentionInputs&)> width;
  /// Codes are q and k, scaled, and tables of places: those of class tokens are 0. Other codes take
  /// the place of q and k; class tokens widen them by 2 d, so that products with theirs are q k /
  /// sqrt d.
  bool is_appended = false;
};

/// Scores favor_pos of the codes (dense and features), or softmax (dense).
MechanismInfo Coded(MechanismInfo info, CodedParts parts);

/// x d^-1/4.
torch::Tensor ScaledTokens(const torch::Tensor& x);
/// x [B,H,L,d], table [H,L,r] -> [B,H,L,d+r].
torch::Tensor Appended(const torch::Tensor& x, const torch::Tensor& table);

}  // namespace interlacer::attention
