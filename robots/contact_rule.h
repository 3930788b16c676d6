#pragma once

/// How objects move if they do nothing but follow what touches them: a rule that knows the robot's
/// commanded motion and the particles of one observation, and has learnt nothing.
///
/// Objects are the clusters of robots/particle_clusters.h of at most kLargestObjectM; what is
/// larger is furniture. The joints go in a straight line from row to row in five substeps. In each
/// of them
///   - a link touches an object if a point of its surface is less than 1 cm from a particle of it,
///     and is near below 2 cm. The object lies in the direction of the mean of its particles within
///     3 cm of the link's nearest point;
///   - an object hangs if at the observation its lowest particle is more than 2 cm above the
///     support: while two links are within 3 cm, these hold it. It goes rigidly with the nearest,
///     until of two that lie on either side, as those of a grip do, one moves more than 1 mm away
///     from the other in a substep. From then on it is as any other;
///   - a link draws back if its gap to the object, were that to stay, would grow by more than half
///     of the way of its nearest surface point: fingers that open, a tool that leaves what it has
///     pushed;
///   - an object is gripped if of two near links each is, seen from above, on that side of the
///     other on which the object lies. It goes rigidly with the nearest link that touches it and
///     does not draw back. (Two links far apart on one face are taken for a grip, too.)
///   - any other object goes with the nearest link that touches it and either bears it: all of its
///     particles are higher than the link's nearest point, and that particle which is nearest lies
///     within 46 degrees straight above it; or pushes it: does not draw back and goes, seen from
///     above, within 73 degrees of the direction in which the object lies. What is pushed keeps the
///     height of its lowest particle. A hand that slides up along a face carries nothing;
///   - an object that moves bears or pushes others as a link does: a held tool, what lies in its
///     way, and so on. It grips nothing;
///   - nothing is pressed below where it rests: the height of its lowest particle at first, if
///     that is up to 2 cm above the support, or else 5 mm above it;
///   - what has been gripped, borne, pushed or let go and now goes with nothing falls at once,
///     straight down to where it rests or onto other objects and furniture that reach more than
///     1 cm under it, if that is farther than 1 cm. So a tray that stands still keeps what lies on
///     it.
/// Objects do not tip over. The first centimetre was chosen on twelve simulated episodes (seed
/// 771300), half of the way on these and 32 more (seeds 771500 and 771700), all else on 80 of the
/// validation data (seeds 20040 to 20119): see docs/results.md, whose test episodes chose none.
///   positions_m  [n,3] float32, world frame, z up, finite
///   links        [n] of AttachPoints at the observation; those of the robot take no part
///   joints       [c] radians and metres in the order of Robot::columns
/// How large furniture is was not measured: objects that two hands move are smaller, tables and
/// shelves larger. Errors: broken invariants only. Determinism: equal bits for any thread count.
/// Threads: immutable after construction.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "common/geometry.h"
#include "robots/link_surface.h"
#include "robots/robot.h"

namespace interlacer {

/// Diagonal of the box around an object.
inline constexpr double kLargestObjectM = 0.5;

class ContactRule {
 public:
  /// Of one observation. The robot must be valid and not null.
  ContactRule(std::shared_ptr<const Robot> robot, std::span<const float> positions_m,
              std::span<const std::int32_t> links);

  /// Memory that it holds, but for the robot.
  std::int64_t size_bytes() const;
  std::size_t object_count() const { return rests_m_.size(); }
  /// [n] object of each particle, kNotAttached for none.
  std::span<const std::int32_t> objects() const { return objects_; }

  /// What a rollout knows of the objects beside where they are: whether each was gripped, borne,
  /// pushed or, if it hangs, let go. [objects]
  using Touched = std::vector<std::uint8_t>;
  Touched Untouched() const { return Touched(object_count(), 0); }

  /// [objects] later_from_now while the joints go from one row to the next, identity in every bit
  /// where the object stays. `positions_m` are those of now, of as many particles as at the
  /// observation; `touched` is Untouched() before the first step.
  std::vector<Transform> Step(std::span<const double> from_joints,
                              std::span<const double> to_joints, std::span<const float> positions_m,
                              Touched* touched) const;

  /// Particles at `positions_m` where `moved` takes their objects; the others, and those of objects
  /// that stay, keep their bits.
  void Carry(std::span<const Transform> moved, std::span<const float> positions_m,
             std::span<float> carried_m) const;

 private:
  std::shared_ptr<const Robot> robot_;
  std::vector<std::optional<LinkSurface>> surfaces_;  ///< [links]; nothing without surface points
  std::vector<std::int32_t> objects_;
  std::vector<double> rests_m_;  ///< [objects] height of the lowest particle of what lies
  std::vector<bool> hangs_;      ///< [objects] whether nothing but links can hold it at first
  std::vector<Vec3d> furniture_m_;
};

}  // namespace interlacer
