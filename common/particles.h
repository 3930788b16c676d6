#pragma once

/// A cloud of particles at one time.
///   positions_m  [n,3] float32, world frame, finite
///   colors_rgb8  [n,3] colour of the source pixel; the same particle keeps it for the whole
///   rollout
/// Entry i is the same particle in every predicted step of a rollout. Thread-safety: value type.

#include <cstdint>
#include <vector>

namespace interlacer {

struct Particles {
  std::int64_t count = 0;
  std::vector<float> positions_m;
  std::vector<std::uint8_t> colors_rgb8;
};

}  // namespace interlacer
