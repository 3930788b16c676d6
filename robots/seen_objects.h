#pragma once

/// Which particles of an observation belong to objects that were found among other, denser points
/// of it. Errors: none. Determinism: equal bits for any thread count. Threads: pure function.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace interlacer {

inline constexpr double kSamePlaceM = 0.02;

/// Points of one observation and the links that they belong to.
///   positions_m  [n,3] float32, world frame, finite
///   links        [n] of AttachPoints
struct LinkedPoints {
  std::span<const float> positions_m;
  std::span<const std::int32_t> links;
};

/// [particles] object of the nearest seen point, kNotAttached if that is of none or not nearer than
/// kSamePlaceM, or the particle belongs to a link. `objects_of_seen` [seen] are below
/// `object_count`, each of which has a seen point, or kNotAttached.
std::vector<std::int32_t> ObjectsOfParticles(const LinkedPoints& particles,
                                             std::span<const float> seen_m,
                                             std::span<const std::int32_t> objects_of_seen,
                                             std::size_t object_count);

}  // namespace interlacer
