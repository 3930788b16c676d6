#pragma once

/// The rule of robots/contact_rule.h as a prediction: what the robot grips, bears or pushes goes
/// with it from the newest observation on.
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

/// [k] bodies of other particles of the observation: `contact` is of `seen_m`, and the objects of
/// these are found by robots/seen_objects.h.
std::vector<std::int32_t> BodiesOfParticles(const ContactMotion& contact,
                                            std::span<const float> seen_m,
                                            std::span<const float> particles_m);

}  // namespace interlacer
