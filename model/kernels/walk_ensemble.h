#pragma once

/// All walkers of one start node: arithmetic shared by the CPU and CUDA walk samplers (contract:
/// model/graph/walk_sampler.h). Products are rounded separately from sums (-ffp-contract=off,
/// -fmad=false), so both give equal bits. Memory is the caller's. Not shared between threads.
///
/// Bound on the CPU: latency of each root's chain of draws, sorts and edges. A walker's next node
/// is known once 20 bytes of its edge and of its node's offsets are read. A draw is ten rounds of
/// Philox; the repelling samplers sort the walkers of a hop and share draws among them.
/// Sizes: one root at a time, whose walkers with their draws and order take 40 bytes each: the
/// default's 27 stay in the first cache.

#include <cstdint>

#include "common/kernels/host_device.h"
#include "common/random.h"
#include "model/kernels/walk_sampler_options.h"

namespace interlacer {

/// Weighted edges in CSR form: out-edges of node i are [offsets[i], offsets[i + 1]).
struct WalkEdges {
  const std::int32_t* offsets = nullptr;
  const std::int32_t* neighbors = nullptr;
  const double* weights = nullptr;
};

struct Walker {
  std::int32_t node;
  /// Identifier of its past, equal for walkers that took the same edges. Used by
  /// kRepellingPerPrefix only.
  std::int32_t prefix;
  std::int32_t chosen_edge;
  bool alive;
  double load;
};

/// Sort key of a walker: the past or node that a group shares, then the walker's index.
struct WalkGroupMember {
  std::int32_t shared;
  std::int32_t walker;
};
INTERLACER_HOST_DEVICE inline bool operator<(const WalkGroupMember& a, const WalkGroupMember& b) {
  return a.shared < b.shared || (a.shared == b.shared && a.walker < b.walker);
}

/// Scratch arrays of walk_count elements each.
struct WalkScratch {
  Walker* walkers = nullptr;
  double* draws = nullptr;
  WalkGroupMember* order = nullptr;
};

/// Sort is called as sort(begin, end) on WalkGroupMember.
template <typename Sort>
class WalkEnsemble {
 public:
  INTERLACER_HOST_DEVICE WalkEnsemble(const WalkEdges& edges, const WalkSamplerOptions& options,
                                      const WalkScratch& scratch, const Sort& sort)
      : edges_(edges), options_(options), scratch_(scratch), sort_(sort) {}

  /// Calls visit(node, hops, load) for every prefix of every walk from `root`, which draws as the
  /// node of number `key`.
  template <typename Visit>
  INTERLACER_HOST_DEVICE void Run(std::int32_t root, std::int32_t key, const Visit& visit) {
    RandomSequence random(options_.seed, RandomStream::kWalks, static_cast<std::uint32_t>(key),
                          options_.ensemble);
    for (int w = 0; w < options_.walk_count; ++w) {
      scratch_.walkers[w] = {root, 0, 0, true, 1};
    }
    for (int hops = 0;; ++hops) {
      for (int w = 0; w < options_.walk_count; ++w) {
        const Walker& walker = scratch_.walkers[w];
        if (walker.alive) visit(walker.node, hops, walker.load);
      }
      if (hops == options_.max_hops) return;
      Halt(random);
      ChooseEdges(random);
      Move();
    }
  }

 private:
  INTERLACER_HOST_DEVICE int Degree(std::int32_t node) const {
    return edges_.offsets[node + 1] - edges_.offsets[node];
  }

  INTERLACER_HOST_DEVICE void Halt(RandomSequence& random) {
    for (int w = 0; w < options_.walk_count; ++w) {
      if (Degree(scratch_.walkers[w].node) == 0) scratch_.walkers[w].alive = false;
    }
    const double p = options_.halt_probability;
    if (p == 0) return;
    const bool mirror = HaltsInPairs(options_);
    const int half = options_.walk_count / 2;
    for (int w = 0; w < options_.walk_count; ++w) {
      double draw = mirror && w >= half ? scratch_.draws[w - half] + 0.5 : random.Uniform();
      if (draw >= 1) draw -= 1;
      scratch_.draws[w] = draw;
      if (draw < p) scratch_.walkers[w].alive = false;
    }
  }

  INTERLACER_HOST_DEVICE void ChooseEdges(RandomSequence& random) {
    if (options_.sampler == WalkSampler::kIid || options_.sampler == WalkSampler::kAntithetic) {
      for (int w = 0; w < options_.walk_count; ++w) {
        Walker& walker = scratch_.walkers[w];
        if (!walker.alive) continue;
        const auto degree = static_cast<std::uint32_t>(Degree(walker.node));
        walker.chosen_edge =
            edges_.offsets[walker.node] + static_cast<std::int32_t>(random.Below(degree));
      }
      return;
    }
    const int alive = GroupWalkers();
    std::int32_t next_prefix = 0;
    for (int begin = 0; begin < alive;) {
      int end = begin;
      while (end < alive && scratch_.order[end].shared == scratch_.order[begin].shared) ++end;
      Spread(begin, end, next_prefix, random);
      begin = end;
    }
  }

  /// Groups the live walkers by sorting; returns their number.
  INTERLACER_HOST_DEVICE int GroupWalkers() {
    const bool by_prefix = options_.sampler == WalkSampler::kRepellingPerPrefix;
    int alive = 0;
    for (int w = 0; w < options_.walk_count; ++w) {
      const Walker& walker = scratch_.walkers[w];
      if (walker.alive) scratch_.order[alive++] = {by_prefix ? walker.prefix : walker.node, w};
    }
    sort_(scratch_.order, scratch_.order + alive);
    return alive;
  }

  /// Spreads the walkers on one node of degree d. More than d walkers: blocks of d, each a random
  /// rotation of the neighbours. Otherwise: evenly spaced quantiles with one common random shift.
  INTERLACER_HOST_DEVICE void Spread(int begin, int end, std::int32_t& next_prefix,
                                     RandomSequence& random) {
    const std::int32_t node = scratch_.walkers[scratch_.order[begin].walker].node;
    const int degree = Degree(node);
    const int count = end - begin;
    int rotation = 0;
    const double shift = count > degree ? 0 : random.Uniform();
    for (int w = 0; w < count; ++w) {
      int neighbor = 0;
      if (count > degree) {
        if (w % degree == 0) {
          rotation = static_cast<int>(random.Below(static_cast<std::uint32_t>(degree)));
        }
        neighbor = (w + rotation) % degree;
      } else {
        double quantile = static_cast<double>(w) / count + shift;
        if (quantile >= 1) quantile -= 1;
        neighbor = static_cast<int>(quantile * degree);
        if (neighbor > degree - 1) neighbor = degree - 1;
      }
      Walker& walker = scratch_.walkers[scratch_.order[begin + w].walker];
      walker.chosen_edge = edges_.offsets[node] + neighbor;
      walker.prefix = next_prefix + neighbor;
    }
    next_prefix += degree;
  }

  INTERLACER_HOST_DEVICE void Move() {
    for (int w = 0; w < options_.walk_count; ++w) {
      Walker& walker = scratch_.walkers[w];
      if (!walker.alive) continue;
      walker.load *= edges_.weights[walker.chosen_edge] * Degree(walker.node) /
                     (1 - options_.halt_probability);
      walker.node = edges_.neighbors[walker.chosen_edge];
    }
  }

  WalkEdges edges_;
  WalkSamplerOptions options_;
  WalkScratch scratch_;
  Sort sort_;
};

}  // namespace interlacer
