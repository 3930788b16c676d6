#pragma once

/// Tensors of counter-based random numbers, and random projections.
///
/// A number is a function of seed, stream, a, b and its place alone, whatever the type of tensor.
/// Thread-safety: pure functions. Source: philox; performer, Sec. 2.4 (orthogonal features).

#include <torch/types.h>

#include <cstdint>

#include "common/random.h"
#include "model/attention/core/inputs.h"
#include "model/attention/core/options.h"

namespace interlacer::attention {

/// Another number for every draw of options "seed" and, if there, "redraw_every": those of one step
/// are equal for redraw_every steps, or for ever with 0.
std::uint64_t SeedOf(const Options& options, const AttentionInputs& inputs);
OptionSpec RedrawOption();

/// Standard normal numbers, float64 [rows,columns].
torch::Tensor NormalMatrix(std::uint64_t seed, RandomStream stream, std::uint32_t a,
                           std::uint32_t b, std::int64_t rows, std::int64_t columns);

/// [heads,m,d]: rows N(0,I), of independent draws for every head. Orthogonal: in blocks of d rows
/// that are at right angles, each with the length of a fresh N(0,I) vector.
torch::Tensor RandomProjection(std::uint64_t seed, std::int64_t heads, std::int64_t m,
                               std::int64_t d, bool is_orthogonal,
                               const torch::TensorOptions& like);

}  // namespace interlacer::attention
