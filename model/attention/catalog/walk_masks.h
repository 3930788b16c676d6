#pragma once

/// Masks of walks that several mechanisms use: their options, parameters and making.
///
/// Thread-safety: pure functions. Source: gkat, Sec. 4.2 (frequency vectors).

#include <vector>

#include "model/attention/catalog/masked.h"

namespace interlacer::attention {

std::vector<OptionSpec> WalkOptions(std::int64_t walks, std::int64_t hops, double halt_probability);

/// RWGNK: rows Psi(h) = sum over e <= hops of (lambda (1 - p))^e (P^e)_h, P = Deg^-1 Adj, divided
/// by their length^alpha; M = Psi Psi^T. A token without neighbours has the unit vector.
std::vector<OptionSpec> FrequencyOptions();
NamedTensors FrequencyParameters(const Options& options, const AttentionInputs& inputs);
MaskPtr FrequencyMask(const Options& options, const AttentionInputs& inputs);

}  // namespace interlacer::attention
