#pragma once

/// A cloud of particles at one time.
///   positions_m  [n,3] float32, world frame, finite
///   colors_rgb8  [n,3] colour of the source pixel; the same particle keeps it for the whole
///   rollout
///   spread_m     [n] how far apart several predictions of the particle lie: the root mean square
///   distance from their mean; 0 where the model is as sure as it can be. Not an error bound
/// Entry i is the same particle in every predicted step of a rollout. Thread-safety: value type.

#include <cstdint>
#include <vector>

namespace interlacer {

struct Particles {
  std::int64_t count = 0;
  std::vector<float> positions_m;
  std::vector<std::uint8_t> colors_rgb8;
  std::vector<float> spread_m;  ///< [n] empty unless it was asked for
};

}  // namespace interlacer
