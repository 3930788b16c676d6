#pragma once

/// What theory says of the walks of grf_sym on a graph: how many suffice, how sparse features are.
///
/// Errors: those of Attention (model/attention/core/attention.h); INVALID_ARGUMENT ARGUMENT_INVALID
/// at "error" unless it is above 0 and at "probability" unless it is in (0,1); those of a graph
/// that grf_sym refuses. Thread-safety: pure function. Source: grf-masking, Thm 3.1 and Lemma 3.2,
/// whose proofs hold for walks of any law of lengths: loads of t hops are divided by its
/// probability of as many.

#include <cstdint>
#include <optional>

#include "model/attention/core/attention.h"

namespace interlacer::attention {

struct MaskBounds {
  /// By which one hop multiplies a load at most: W times out-edges, over the share of walks that
  /// take it of those that came so far, which is 1 - halt_probability of geometric lengths.
  double largest_step_load = 0;
  double load_norm = 0;  ///< c of coefficients, the largest of all heads
  /// Independent walks of a token that suffice; nothing where 2^31 do not.
  std::optional<int> walks;
  /// Of a row of features at most, by the options' walks and hops.
  std::int64_t entries = 0;
};

/// For entries off the diagonal that are wrong by more than `error`, and rows with more entries,
/// each with `probability` at most.
StatusOr<MaskBounds> BoundsOf(const Attention& grf_sym, const AttentionInputs& inputs, double error,
                              double probability);

}  // namespace interlacer::attention
