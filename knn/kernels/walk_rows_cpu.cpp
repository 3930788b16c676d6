#include <algorithm>

#include "knn/kernels/walk_rows.h"

namespace interlacer::cpu {
namespace {

constexpr std::uint32_t kLastNode = kEndOfList >> 8;
constexpr std::uint32_t kEmptyList[2] = {kEndOfList, kEndOfList};

std::uint32_t Word(std::int64_t node, int hops) {
  return static_cast<std::uint32_t>(node) << 8 | kOnePath[hops];
}

/// Merges three lists and the list of one word. write(place, node, code) takes the next end node;
/// the place does not move on after a node that no path reaches, which is how every merge ends.
template <typename Write>
int Merge(const std::uint32_t* const (&lists)[kMaxWalkDegree], std::uint32_t self,
          const Write& write) {
  const std::uint32_t only_self[2] = {self, kEndOfList};
  const std::uint32_t *a = lists[0], *b = lists[1], *c = lists[2], *d = only_self;
  int size = 0;
  std::uint32_t node;
  do {
    const std::uint32_t first = std::min(std::min(*a, *b), std::min(*c, *d));
    const std::uint32_t last = first | 0xFF;  // of the words of this node
    node = first >> 8;
    std::uint32_t code = 0;
    for (const std::uint32_t** list : {&a, &b, &c, &d}) {
      const bool has_node = **list <= last;
      code += has_node ? **list & 0xFF : 0;
      *list += has_node;
    }
    write(size, node, code);
    size += code != 0;
  } while (node != kLastNode);
  return size;
}

/// The list of up to one hop of a node, counted as the last of three hops.
void MergeOneHop(const WalkGraphView& graph, std::int64_t node, std::uint32_t* list) {
  std::uint32_t ends[kMaxWalkDegree][2];
  const std::uint32_t* lists[kMaxWalkDegree] = {kEmptyList, kEmptyList, kEmptyList};
  for (int r = 0; r < graph.degree; ++r) {
    ends[r][0] = Word(graph.neighbors[node * graph.degree + r], 3);
    ends[r][1] = kEndOfList;
    lists[r] = ends[r];
  }
  Merge(lists, Word(node, 2),
        [&](int place, std::uint32_t end, std::uint32_t code) { list[place] = end << 8 | code; });
}

void MergeTwoHops(const WalkGraphView& graph, std::int64_t begin, std::int64_t end,
                  std::uint32_t* two_hops) {
  for (std::int64_t i = begin; i < end; ++i) {
    std::uint32_t one_hop[kMaxWalkDegree][1 + kMaxWalkDegree + 1];
    const std::uint32_t* lists[kMaxWalkDegree] = {kEmptyList, kEmptyList, kEmptyList};
    for (int r = 0; r < graph.degree; ++r) {
      MergeOneHop(graph, graph.neighbors[i * graph.degree + r], one_hop[r]);
      lists[r] = one_hop[r];
    }
    std::uint32_t* const list = two_hops + i * kTwoHopStride;
    Merge(lists, Word(i, 1), [&](int place, std::uint32_t node, std::uint32_t code) {
      list[place] = node << 8 | code;
    });
  }
}

void MergeThreeHops(const WalkGraphView& graph, const std::uint32_t* two_hops, std::int64_t begin,
                    std::int64_t end, std::int32_t* row_sizes, std::uint32_t* entries) {
  for (std::int64_t i = begin; i < end; ++i) {
    const std::uint32_t* lists[kMaxWalkDegree] = {kEmptyList, kEmptyList, kEmptyList};
    for (int r = 0; r < graph.degree; ++r) {
      lists[r] = two_hops + graph.neighbors[i * graph.degree + r] * kTwoHopStride;
    }
    const int size =
        Merge(lists, Word(i, 0), [&](int place, std::uint32_t node, std::uint32_t code) {
          entries[place] = node | code << 24;
        });
    row_sizes[i - begin] = size;
    entries += size;
  }
}

}  // namespace

WalkRowKernels GetWalkRowKernels() { return {MergeTwoHops, MergeThreeHops}; }

}  // namespace interlacer::cpu
