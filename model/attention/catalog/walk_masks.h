#pragma once

/// Masks of walks that several mechanisms use: their options, parameters and making.
///
/// Thread-safety: pure functions. Source: gkat, Sec. 4.2 (frequency vectors).

#include <cstdint>
#include <functional>
#include <vector>

#include "model/attention/catalog/masked.h"
#include "model/attention/masks/walk_features.h"

namespace interlacer::attention {

/// Of a head's walks: one for all, unless "walks_per_head" is set.
std::uint64_t SeedOfHead(const Options& options, const AttentionInputs& inputs, std::int64_t head);

/// Whether walks are kept between calls, as Attention reads it.
OptionSpec KeepWalksOption();

/// What `make` returns, or what the last call on the same graph made in `slot`.
WalkTerms KeptTerms(const AttentionInputs& inputs, const char* slot, std::uint64_t seed,
                    const std::function<WalkTerms()>& make);

/// Of the options' hops, geometric where they have no length_law.
LengthLaw LengthLawOf(const Options& options);

/// The mask graph of grf_sym. Throws as RequireUndirected: Phi Phi^T is a power series of W where W
/// is its own transpose.
Graph SymmetricGraphOf(const Options& options, const AttentionInputs& inputs);

std::vector<OptionSpec> WalkOptions(std::int64_t walks, std::int64_t hops, double halt_probability);

/// Rows of Psi, of which none is all 0, over their length^alpha.
MaskPairs DividedByLengths(MaskPairs psi, double alpha);

/// RWGNK: rows Psi(h) = sum over e <= hops of (lambda (1 - p))^e (P^e)_h, P = Deg^-1 Adj, divided
/// by their length^alpha; M = Psi Psi^T. A token without neighbours has the unit vector.
std::vector<OptionSpec> FrequencyOptions();
NamedTensors FrequencyParameters(const Options& options, const AttentionInputs& inputs);
MaskPtr FrequencyMask(const Options& options, const AttentionInputs& inputs);

}  // namespace interlacer::attention
