#pragma once

/// An object of robots/contact_rule.h within one step, in which it moves as a rigid body. Lengths
/// in metres, places in the world frame, z up. Errors: none. Threads: no sharing while it moves.

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "common/geometry.h"
#include "robots/link_surface.h"

namespace interlacer {

/// The links of a robot at one time, or objects that push others as links do.
struct PosedLinks {
  std::vector<Transform> world_from_link, link_from_world;
};

/// Height of the lowest point, infinite for none.
double LowestOf(std::span<const Vec3d> points_m);

class RigidObject {
 public:
  /// Of its particles, at least one, and the height of the lowest of them where it lies.
  RigidObject(std::vector<Vec3d> start_m, double rest_m);

  /// now_from_start, identity as long as nothing has moved it.
  const Transform& moved() const { return moved_; }

  struct Contact {
    bool is_held = false;             ///< gripped or borne, also by links that all draw back
    std::optional<std::size_t> link;  ///< of `surfaces`, that the object goes with
  };
  /// While the links go from `now` to `next`. `surfaces` [links], null for those without one.
  /// Of what nothing but links can hold, with two of them within 3 cm: the nearest, or held without
  /// a link if two on either side move apart.
  Contact HangingFrom(std::span<const LinkSurface* const> surfaces, const PosedLinks& now,
                      const PosedLinks& next) const;
  /// Of all else.
  Contact ContactWith(std::span<const LinkSurface* const> surfaces, const PosedLinks& now,
                      const PosedLinks& next) const;
  /// The same of what cannot grip.
  Contact PushedBy(std::span<const LinkSurface* const> surfaces, const PosedLinks& now,
                   const PosedLinks& next) const;
  /// Its particles, in the frame in which it has not moved.
  LinkSurface Surface() const;

  /// Goes rigidly with what goes from one pose to another, then straight up or down: its lowest
  /// particle to the height that it had, or else only up to where it rests.
  void Follow(const Transform& from, const Transform& to, bool keeps_height);
  /// How far it is above where it rests, negative below.
  double AboveRestM() const { return LowestOf(now_m_) - rest_m_; }
  /// How far it can go straight down until a particle of it, drawn 2 cm towards its middle as seen
  /// from above, comes to the height of another one less than 1 cm beside; infinite if there is
  /// none.
  double AboveM(std::span<const Vec3d> others_m) const;
  void Raise(double by_m);
  std::span<const Vec3d> now_m() const { return now_m_; }

 private:
  /// The least distance to a link, the point of its surface in the link's frame, and the particle.
  struct Gap {
    double m = std::numeric_limits<double>::infinity();
    Vec3d surface_m{}, particle_m{};
  };
  /// A link near the object.
  struct NearLink {
    std::size_t link;
    Gap gap;
    Vec3d at_m;    ///< the gap's point of its surface
    Vec3d inward;  ///< direction from there to the mean of the particles around it
  };

  /// Infinite where it is not less than `reach_m`.
  Gap GapTo(const LinkSurface& surface, const Transform& link_from_world, double reach_m) const;
  /// Nearest first.
  std::vector<NearLink> NearLinks(std::span<const LinkSurface* const> surfaces,
                                  const PosedLinks& now, double reach_m) const;
  /// `near` are of `surfaces`.
  Contact ContactOf(std::span<const NearLink> near, bool is_gripped,
                    std::span<const LinkSurface* const> surfaces, const PosedLinks& next) const;
  static bool AreOnEitherSide(const NearLink& a, const NearLink& b);
  static bool IsGripped(std::span<const NearLink> near);
  static bool LetGo(std::span<const NearLink> near, const PosedLinks& next);
  bool IsBorneBy(const NearLink& of) const;
  void Place();

  std::vector<Vec3d> start_m_, now_m_;
  double radius_m_ = 0;  ///< of a sphere around the first particle
  double rest_m_;
  Transform moved_;
};

}  // namespace interlacer
