#pragma once

/// How objects move if they do nothing but follow what touches them: a prediction that knows the
/// robot's commanded motion and the particles of one observation, and has learnt nothing.
///
/// Objects are the clusters of evaluation/particle_clusters.h. The joints go in a straight line
/// from row to row in five substeps. In each of them
///   - a link touches an object if a point of its surface is less than 1 cm from a particle of it;
///   - the object goes rigidly with the nearest link that touches it and does not draw back. A link
///     draws back if its gap to the object, were that to stay, would grow by more than half of the
///     way of its nearest surface point: fingers that open, a tool that leaves what it has pushed;
///   - nothing is pressed below where it rests: the height of its lowest particle at first, or 2 cm
///     above the support, whichever is lower;
///   - what has been touched and goes with no link falls at once, straight down to where it rests,
///     from 1 cm above that on.
/// Objects do not push each other and do not tip over. The first centimetre was chosen on twelve
/// simulated episodes (seed 771300), the other numbers on these and 32 more (seeds 771500 and
/// 771700); the test episodes of docs/results.md chose none.
///   particles_m  [n,3] float32, world frame, z up, finite, at the newest observation
/// Determinism: equal bits for any thread count. Thread-safety: pure function.

#include <cstdint>
#include <span>
#include <vector>

#include "evaluation/scene_motion.h"

namespace interlacer {

struct ContactMotion {
  BodyMotion motion;                 ///< the links, then the objects that are ever moved
  std::vector<std::int32_t> bodies;  ///< [n] of the particles
};

/// `commanded` is a CommandedMotion. Where nothing is moved it comes back in the same bits.
ContactMotion FollowContacts(BodyMotion commanded, std::span<const float> particles_m);

}  // namespace interlacer
