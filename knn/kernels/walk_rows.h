#pragma once

/// Kernels that build the rows of merged walk lists hop by hop.
///
/// The walks of up to t + 1 hops from a node are the node itself and the walks of up to t hops from
/// each of its out-neighbours, so a list is a merge of shorter ones. The word of an end node is
/// node << 8 | code, the code being that of common/kernels/walk_entry.h; a list is ordered by node,
/// holds each node once and ends with kEndOfList. Neighbours may repeat and may be the node itself;
/// counts too large for the code wrap around as sums of packed entries do.
/// Raw pointers; nothing is allocated. Deterministic: all forms give equal bits. Thread-safe.

#include <cstdint>

#include "common/kernels/walk_entry.h"

namespace interlacer {

inline constexpr int kMaxWalkDegree = 3;
/// One path of t hops in a code.
inline constexpr std::uint32_t kOnePath[4] = {1u << 0, 1u << 1, 1u << 2, 1u << 4};
/// A node that no path reaches, behind every other word.
inline constexpr std::uint32_t kEndOfList = 0xFFFFFF00u;
/// Words from one list of up to two hops to the next: at most 1 + 3 + 9, and the end.
inline constexpr std::int64_t kTwoHopStride = 16;
/// Words a row may touch: at most 1 + 3 + 9 + 27 entries, in whole vectors of 16.
inline constexpr std::int64_t kWalkRowCapacity = 48;

/// Out-neighbours [n, degree] of nodes below 2^24; 0 <= degree <= kMaxWalkDegree.
struct WalkGraphView {
  const std::int32_t* neighbors;
  int degree;
};

/// Writes lists of up to two hops of the nodes [begin, end) to two_hops [n, kTwoHopStride], counted
/// as the last two of three hops.
using MergeTwoHopsFn = void (*)(const WalkGraphView& graph, std::int64_t begin, std::int64_t end,
                                std::uint32_t* two_hops);

/// Writes the rows of the roots [begin, end), as WalkLists holds them, one after another, and the
/// size of each. `entries` has room for kWalkRowCapacity words a root.
using MergeThreeHopsFn = void (*)(const WalkGraphView& graph, const std::uint32_t* two_hops,
                                  std::int64_t begin, std::int64_t end, std::int32_t* row_sizes,
                                  std::uint32_t* entries);

struct WalkRowKernels {
  MergeTwoHopsFn merge_two_hops;
  MergeThreeHopsFn merge_three_hops;
};

namespace cpu {
WalkRowKernels GetWalkRowKernels();
}
namespace avx512 {
/// Only for a degree of three and nodes below 2^24 - 1.
WalkRowKernels GetWalkRowKernels();
}  // namespace avx512

}  // namespace interlacer
