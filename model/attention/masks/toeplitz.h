#pragma once

/// Masks of tokens on a grid that depend on the difference of places alone: M_ij = b[i - j].
///
/// Tokens are in row-major order on a grid n_1 x ... x n_D. b [1 or H, P] has one entry for every
/// signed offset, P = product of (2 n_a - 1), in row-major order, offset 0 in the middle of an
/// axis. Product by real FFTs over D axes, padded to 2 n_a - 1 or more: O(L log L) for a column, in
/// float64; sums below the rounding of the FFT are 0. Dense gathers b entry by entry.
/// Errors: StatusException SHAPE_MISMATCH at "grid" by RequireOffsets. Thread-safety: const.
/// Source: gkat, Lemma 3.3 and Sec. 3.2 (d-level block-Toeplitz masks).

#include <torch/types.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "model/attention/core/mask.h"

namespace interlacer::attention {

/// Half a GiB of numbers for a head.
inline constexpr std::int64_t kMaxOffsets = std::int64_t{1} << 26;

/// Throws unless there are at most `max_sides` sides, 16 at most, and kMaxOffsets offsets: before
/// anything of that size is made. Inputs have passed CheckInputs.
void RequireOffsets(const std::vector<std::int64_t>& grid, std::size_t max_sides);
/// P of a grid.
std::int64_t OffsetCount(const std::vector<std::int64_t>& grid);
/// Sum over axes of |offset|, for every offset in order: int64 [P].
torch::Tensor OffsetDistances(const std::vector<std::int64_t>& grid);
/// Whether a token at this offset comes after the row's: int64 0 or 1, [P].
torch::Tensor IsLaterOffset(const std::vector<std::int64_t>& grid);

MaskPtr MakeToeplitzMask(std::vector<std::int64_t> grid, torch::Tensor b);

}  // namespace interlacer::attention
