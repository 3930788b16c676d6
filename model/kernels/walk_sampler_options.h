#pragma once

/// Options for drawing random walks over a token graph (the estimate: model/graph/walk_sampler.h).

#include <cstdint>

#include "common/kernels/host_device.h"

namespace interlacer {

/// How walkers of one start node depend on each other; each walker alone has the same distribution.
enum class WalkSampler {
  kRepelling,           ///< walkers on the same node spread over its neighbours
  kRepellingPerPrefix,  ///< walkers with the same whole past spread
  kAntithetic,          ///< independent but for antithetic halting
  kIid,                 ///< independent
};

struct WalkSamplerOptions {
  WalkSampler sampler = WalkSampler::kRepelling;
  int walk_count = 27;
  int max_hops = 3;
  double halt_probability = 0;
  std::uint64_t seed = 0;
  /// Ensembles of one seed are independent of each other.
  std::uint32_t ensemble = 0;
  /// Walkers k and k + n/2 halt on draws u and u + 1/2 mod 1, whatever the sampler; n even.
  bool antithetic_halting = false;
};

INTERLACER_HOST_DEVICE inline bool HaltsInPairs(const WalkSamplerOptions& options) {
  return options.antithetic_halting || options.sampler == WalkSampler::kAntithetic;
}

}  // namespace interlacer
