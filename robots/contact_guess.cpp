#include "robots/contact_guess.h"

#include <utility>

#include "common/check.h"
#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/particle_clusters.h"
#include "robots/rigid_fit.h"

namespace interlacer {
namespace {

/// [objects] the particles of each.
std::vector<std::vector<std::size_t>> MembersOf(std::span<const std::int32_t> objects,
                                                std::size_t object_count) {
  std::vector<std::vector<std::size_t>> members(object_count);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (objects[i] != kNotAttached) members[static_cast<std::size_t>(objects[i])].push_back(i);
  }
  return members;
}

}  // namespace

ContactGuess::ContactGuess(std::shared_ptr<const Robot> robot, const LinkedPoints& particles)
    : has_own_points_(false),
      rule_(std::move(robot), particles.positions_m, particles.links),
      objects_(rule_.objects().begin(), rule_.objects().end()) {}

ContactGuess::ContactGuess(std::shared_ptr<const Robot> robot, const LinkedPoints& seen,
                           const LinkedPoints& particles)
    : has_own_points_(true),
      rule_(std::move(robot), seen.positions_m, seen.links),
      objects_(
          ObjectsOfParticles(particles, seen.positions_m, rule_.objects(), rule_.object_count())),
      seen_m_(seen.positions_m.begin(), seen.positions_m.end()),
      particles_m_(particles.positions_m.begin(), particles.positions_m.end()),
      members_(MembersOf(objects_, rule_.object_count())) {}

std::int64_t ContactGuess::size_bytes() const {
  return rule_.size_bytes() +
         static_cast<std::int64_t>((sizeof(std::int32_t) + sizeof(std::size_t)) * objects_.size() +
                                   sizeof(float) * (seen_m_.size() + particles_m_.size()));
}

std::vector<float> ContactGuess::SeenAt(std::span<const float> particles_m) const {
  std::vector<Transform> moved;
  for (const std::vector<std::size_t>& members : members_) {
    std::vector<Vec3d> then_m, now_m;
    for (const std::size_t i : members) {
      then_m.push_back(PositionOf(particles_m_, i));
      now_m.push_back(PositionOf(particles_m, i));
    }
    moved.push_back(FitRigidMotion(then_m, now_m));
  }
  std::vector<float> seen_m(seen_m_.size());
  rule_.Carry(moved, seen_m_, seen_m);
  return seen_m;
}

void ContactGuess::Follow(std::span<const double> from_joints, std::span<const double> to_joints,
                          std::span<const float> positions_m, ContactRule::Touched* touched,
                          std::span<float> followed_m) const {
  INTERLACER_CHECK(positions_m.size() == 3 * objects_.size(), "particles of a contact guess");
  const std::vector<Transform> moved =
      has_own_points_ ? rule_.Step(from_joints, to_joints, SeenAt(positions_m), touched)
                      : rule_.Step(from_joints, to_joints, positions_m, touched);
  CarryPoints(objects_, std::vector<Transform>(moved.size()), moved, positions_m, followed_m);
}

}  // namespace interlacer
