#pragma once

/// Bits of a packed walk-list entry: the node in the low bits, above it the code of its path counts
/// (PackWalkEntry of knn/knn_graph.h). Constants alone, for files of any instruction set.

#include <cstdint>

namespace interlacer {

inline constexpr int kWalkCodeShift = 24;
inline constexpr std::uint32_t kWalkNodeMask = (std::uint32_t{1} << kWalkCodeShift) - 1;
inline constexpr int kWalkCodes = 256;

}  // namespace interlacer
