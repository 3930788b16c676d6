#include "knn/kernels/walk_merge.h"

namespace interlacer::cpu {
namespace {

void MergeTwoHops(const WalkGraphView& graph, std::int64_t begin, std::int64_t end,
                  std::uint32_t* two_hops) {
  for (std::int64_t i = begin; i < end; ++i)
    MergeTwoHopList(graph, i, two_hops + i * kTwoHopStride);
}

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
