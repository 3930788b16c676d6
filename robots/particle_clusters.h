#pragma once

/// What stands on a table, as clusters of the particles of one observation, by their places alone.
///
///   positions_m  [n,3] float32, world frame, z up, finite, within a workspace
///   links        [n] kNotAttached (robots/attachment.h) for particles that belong to no link of
///   the
///                robot; the others take no part
/// The support is the mean height of the particles in the centimetre of height that holds the most
/// of them; of several the lowest. What is more than 8 mm above it and no farther than 4 cm from
/// its next one is one cluster (single linkage): fingers hide parts of what they hold, and pixels
/// of a view of 64 x 64 lie 2 to 3 cm apart. Two particles that are both less than 3 cm above the
/// support are linked up to 1.2 cm alone, or small things that lie side by side would be one: low
/// things are whole among dense points alone (lifting.contact_point_count). The feet of things,
/// particles up to 8 mm above the support that lie less than 2.5 cm from a cluster, belong to the
/// nearest one if they are above the noise of the support: by more than half a millimetre and four
/// times the mean distance of the support's particles from their mean height. A tilted table, and
/// things that touch each other, are not understood. Order: members ascending, clusters by the
/// first of theirs that is no foot; deterministic but for feet equally near two clusters, which are
/// of any. Pure function.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/geometry.h"

namespace interlacer {

/// Row i of positions.
inline Vec3d PositionOf(std::span<const float> positions_m, std::size_t i) {
  return {positions_m[3 * i], positions_m[3 * i + 1], positions_m[3 * i + 2]};
}

struct ParticleClusters {
  double support_m = 0;  ///< height; 0 without particles
  std::vector<std::vector<std::size_t>> members;
};

ParticleClusters ClusterParticles(std::span<const float> positions_m,
                                  std::span<const std::int32_t> links);

}  // namespace interlacer
