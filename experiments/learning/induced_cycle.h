#pragma once

/// Graphs with one induced cycle each: of as many nodes as its tree allows, or of fewer.
///
/// A random binary tree of 50 nodes serves a positive example, in which an edge joins two nodes at
/// the largest distance, so that its cycle has diameter + 1 nodes, and a negative one, in which an
/// edge joins two nodes that are nearer and not neighbours. Pairs are drawn evenly among those that
/// fit. The paper states neither that nor how its trees are drawn. A pure function of its argument.
/// Source: gkat, Sec. 5.1.2.

#include <array>
#include <cstdint>
#include <vector>

#include "common/random.h"

namespace interlacer {

inline constexpr std::int64_t kCycleNodes = 50;

/// Edges of two graphs of kCycleNodes nodes, each edge once, that of the cycle last.
struct CyclePair {
  std::vector<std::array<std::int64_t, 2>> positive, negative;
};
CyclePair DrawCyclePair(RandomSequence* random);

}  // namespace interlacer
