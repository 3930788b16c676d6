#pragma once

/// Where the rule of contact (robots/contact_rule.h) takes the particles of a model: what its
/// network is told before each step.
///
/// Particles of small views lie 2 to 3 cm apart, too far to see whether fingers meet a can between
/// them. So the rule sees points of its own, as close as the observation has them, and they say
/// which particles are whose (robots/seen_objects.h). While a rollout goes on, the seen points of
/// an object have moved since the observation by the rigid motion nearest to that of its particles
/// (robots/rigid_fit.h), of which there are fewer; without particles they stay.
///   positions_m  [n,3] float32, world frame, z up, finite
///   links        [n] of AttachPoints at the observation
/// Errors: broken invariants only. Determinism: equal bits for any thread count. Threads: immutable
/// after construction.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "robots/contact_rule.h"
#include "robots/robot.h"
#include "robots/seen_objects.h"

namespace interlacer {

class ContactGuess {
 public:
  /// The rule sees the particles themselves.
  ContactGuess(std::shared_ptr<const Robot> robot, const LinkedPoints& particles);
  /// The rule sees `seen`, of the same observation.
  ContactGuess(std::shared_ptr<const Robot> robot, const LinkedPoints& seen,
               const LinkedPoints& particles);

  const ContactRule& rule() const { return rule_; }
  /// Memory that it holds, but for the robot.
  std::int64_t size_bytes() const;

  /// [n,3] places of the particles after the joints have gone from one row to the next, the bits of
  /// `positions_m` where a particle stays. `touched` is rule().Untouched() before the first step.
  void Follow(std::span<const double> from_joints, std::span<const double> to_joints,
              std::span<const float> positions_m, ContactRule::Touched* touched,
              std::span<float> followed_m) const;

 private:
  std::vector<float> SeenAt(std::span<const float> particles_m) const;

  bool has_own_points_;
  ContactRule rule_;
  std::vector<std::int32_t> objects_;  ///< [particles]
  // Empty without points of its own:
  std::vector<float> seen_m_, particles_m_;        ///< at the observation
  std::vector<std::vector<std::size_t>> members_;  ///< [objects] particles
};

}  // namespace interlacer
