#pragma once

/// Bits of a packed walk-list entry: the node in the low 24 bits, above it the 8-bit code of its
/// path counts: c0 (1 bit), c1 (1 bit), c2 (2 bits), c3 (4 bits), c0 lowest. Constants alone, for
/// files of any instruction set.

#include <cstdint>

namespace interlacer {

inline constexpr int kWalkCodeShift = 24;
inline constexpr std::uint32_t kWalkNodeMask = (std::uint32_t{1} << kWalkCodeShift) - 1;
inline constexpr int kWalkCodes = 256;

}  // namespace interlacer
