#include "knn/kernels/walk_merge.h"

namespace interlacer::cpu {
namespace {

/// Bound: latency of the merges, at most 14 steps a node and 5 for each neighbour. Lists of one hop
/// are merged again for every node that needs them; they stay on the stack.
/// Sizes: nodes share nothing, so a range may have any length.
/// Layout: lists at a fixed stride of 64 bytes, so that they are found without their sizes.
void MergeTwoHops(const WalkGraphView& graph, std::int64_t begin, std::int64_t end,
                  std::uint32_t* two_hops) {
  for (std::int64_t i = begin; i < end; ++i)
    MergeTwoHopList(graph, i, two_hops + i * kTwoHopStride);
}

/// Bound: latency of the merge, at most 41 steps a root over three gathered lists of 64 bytes; a
/// spatial order of the nodes keeps most of them in the cache.
/// Sizes: as MergeTwoHops.
/// Layout: rows one after another, so a root is written once the one before it has its size.
void MergeThreeHops(const WalkGraphView& graph, const std::uint32_t* two_hops, std::int64_t begin,
                    std::int64_t end, std::int32_t* row_sizes, std::uint32_t* entries) {
  for (std::int64_t i = begin; i < end; ++i) {
    const int size = MergeThreeHopRow(graph, two_hops, i,
                                      [entries](int place, std::uint32_t node, std::uint32_t code) {
                                        entries[place] = node | code << kWalkCodeShift;
                                      });
    row_sizes[i - begin] = size;
    entries += size;
  }
}

}  // namespace

WalkRowKernels GetWalkRowKernels() { return {MergeTwoHops, MergeThreeHops}; }

}  // namespace interlacer::cpu
