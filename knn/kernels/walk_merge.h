#pragma once

/// Merges of short sorted lists of end nodes, one root at a time: the arithmetic that the plain CPU
/// form and the CUDA form of knn/kernels/walk_rows.h share. Words and lists are described there.
/// A merge takes one step for each end node and one for the end: the least of four heads, whose
/// lists then move on, so that every step waits for the words that the step before led to.

#include <cstdint>

#include "common/kernels/host_device.h"
#include "knn/kernels/walk_rows.h"

namespace interlacer {

INTERLACER_HOST_DEVICE inline std::uint32_t WalkWord(std::int64_t node, int hops) {
  constexpr std::uint32_t kOne[4] = {kOnePath[0], kOnePath[1], kOnePath[2], kOnePath[3]};
  return static_cast<std::uint32_t>(node) << 8 | kOne[hops];
}

/// Removes the head of a list if it is at most `last` and returns its code, else 0.
INTERLACER_HOST_DEVICE inline std::uint32_t TakeHead(const std::uint32_t*& list,
                                                     std::uint32_t last) {
  const std::uint32_t word = *list;
  if (word > last) return 0;
  ++list;
  return word & 0xFF;
}

/// TakeHead for a list of one word.
INTERLACER_HOST_DEVICE inline std::uint32_t TakeOnly(std::uint32_t& only, std::uint32_t last) {
  const std::uint32_t word = only;
  if (word > last) return 0;
  only = kEndOfList;
  return word & 0xFF;
}

INTERLACER_HOST_DEVICE inline std::uint32_t Least(std::uint32_t a, std::uint32_t b, std::uint32_t c,
                                                  std::uint32_t d) {
  const std::uint32_t ab = a < b ? a : b;
  const std::uint32_t cd = c < d ? c : d;
  return ab < cd ? ab : cd;
}

/// Merges three lists and the list of one word. write(place, node, code) takes the next end node;
/// the place does not move on after a node that no path reaches, which is how every merge ends.
/// Returns the number of end nodes.
template <typename Write>
INTERLACER_HOST_DEVICE inline int MergeWalks(const std::uint32_t* a, const std::uint32_t* b,
                                             const std::uint32_t* c, std::uint32_t self,
                                             const Write& write) {
  int size = 0;
  std::uint32_t node;
  do {
    const std::uint32_t last = Least(*a, *b, *c, self) | 0xFF;  // of the words of this node
    node = last >> 8;
    const std::uint32_t code =
        TakeHead(a, last) + TakeHead(b, last) + TakeHead(c, last) + TakeOnly(self, last);
    write(size, node, code);
    size += code != 0;
  } while (node != kEndOfList >> 8);
  return size;
}

/// Writes the list of up to one hop of a node, counted as the last of three hops.
INTERLACER_HOST_DEVICE inline void MergeOneHop(const WalkGraphView& graph, std::int64_t node,
                                               std::uint32_t* list) {
  std::uint32_t ends[kMaxWalkDegree];
  for (int r = 0; r < kMaxWalkDegree; ++r) {
    ends[r] = r < graph.degree ? WalkWord(graph.neighbors[node * graph.degree + r], 3) : kEndOfList;
  }
  std::uint32_t self = WalkWord(node, 2);
  int size = 0;
  std::uint32_t last;
  do {
    last = Least(ends[0], ends[1], ends[2], self) | 0xFF;
    const std::uint32_t code = TakeOnly(ends[0], last) + TakeOnly(ends[1], last) +
                               TakeOnly(ends[2], last) + TakeOnly(self, last);
    list[size] = (last & ~0xFFu) | code;
    size += code != 0;
  } while (last != (kEndOfList | 0xFF));
}

/// Writes the list of up to two hops of a node, counted as the last two of three hops.
INTERLACER_HOST_DEVICE inline void MergeTwoHopList(const WalkGraphView& graph, std::int64_t node,
                                                   std::uint32_t* list) {
  std::uint32_t one_hop[kMaxWalkDegree][1 + kMaxWalkDegree + 1];
  for (int r = 0; r < kMaxWalkDegree; ++r) {
    one_hop[r][0] = kEndOfList;
    if (r < graph.degree) {
      MergeOneHop(graph, graph.neighbors[node * graph.degree + r], one_hop[r]);
    }
  }
  MergeWalks(
      one_hop[0], one_hop[1], one_hop[2], WalkWord(node, 1),
      [&](int place, std::uint32_t end, std::uint32_t code) { list[place] = end << 8 | code; });
}

/// Merges the row of a root from the lists of up to two hops of its neighbours.
template <typename Write>
INTERLACER_HOST_DEVICE inline int MergeThreeHopRow(const WalkGraphView& graph,
                                                   const std::uint32_t* two_hops, std::int64_t root,
                                                   const Write& write) {
  const std::uint32_t empty[1] = {kEndOfList};
  const std::uint32_t* lists[kMaxWalkDegree] = {empty, empty, empty};
  for (int r = 0; r < kMaxWalkDegree; ++r) {
    if (r < graph.degree) {
      lists[r] = two_hops + graph.neighbors[root * graph.degree + r] * kTwoHopStride;
    }
  }
  return MergeWalks(lists[0], lists[1], lists[2], WalkWord(root, 0), write);
}

}  // namespace interlacer
