#include "robots/contact_guess.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/check.h"
#include "common/geometry.h"
#include "common/transforms.h"
#include "robots/attachment.h"
#include "robots/nearest_point.h"
#include "robots/particle_clusters.h"
#include "robots/rigid_fit.h"

namespace interlacer {
namespace {

/// Boxes around the seen points of each object.
std::vector<Box> BoxesOf(std::span<const float> seen_m, std::span<const std::int32_t> seen_objects,
                         std::size_t object_count) {
  constexpr double kFar = std::numeric_limits<double>::infinity();
  std::vector<Box> boxes(object_count, Box{{kFar, kFar, kFar}, {-kFar, -kFar, -kFar}});
  for (std::size_t i = 0; i < seen_objects.size(); ++i) {
    if (seen_objects[i] == kNotAttached) continue;
    Box& box = boxes[static_cast<std::size_t>(seen_objects[i])];
    const Vec3d point_m = PositionOf(seen_m, i);
    for (std::size_t axis = 0; axis < 3; ++axis) {
      box.min_m[axis] = std::min(box.min_m[axis], point_m[axis]);
      box.max_m[axis] = std::max(box.max_m[axis], point_m[axis]);
    }
  }
  return boxes;
}

std::vector<Box> Grown(std::vector<Box> boxes, double by_m) {
  for (Box& box : boxes) {
    for (double& low_m : box.min_m) low_m -= by_m;
    for (double& high_m : box.max_m) high_m += by_m;
  }
  return boxes;
}

bool IsInOne(const std::vector<Box>& boxes, std::span<const float> positions_m, std::size_t i) {
  const Vec3f point_m{positions_m[3 * i], positions_m[3 * i + 1], positions_m[3 * i + 2]};
  return std::any_of(boxes.begin(), boxes.end(),
                     [&](const Box& box) { return Contains(box, point_m); });
}

/// Object of the nearest seen point of each particle that belongs to no link. A particle farther
/// than kSamePlaceM from all objects is of none, and of the others no point farther than twice that
/// from them is the nearest, so that few points are searched.
std::vector<std::int32_t> ObjectsOf(const LinkedPoints& particles, const LinkedPoints& seen,
                                    std::span<const std::int32_t> seen_objects,
                                    std::size_t object_count) {
  std::vector<std::int32_t> objects(particles.links.size(), kNotAttached);
  if (object_count == 0) return objects;
  const std::vector<Box> near = Grown(BoxesOf(seen.positions_m, seen_objects, object_count),
                                      kSamePlaceM),
                         searched = Grown(near, kSamePlaceM);
  std::vector<float> near_m;
  std::vector<std::size_t> of_near;
  for (std::size_t i = 0; i < seen.links.size(); ++i) {
    if (!IsInOne(searched, seen.positions_m, i)) continue;
    of_near.push_back(i);
    near_m.insert(near_m.end(), &seen.positions_m[3 * i], &seen.positions_m[3 * i] + 3);
  }
  const NearestPoint nearest(near_m);
  for (std::size_t i = 0; i < objects.size(); ++i) {
    if (particles.links[i] != kNotAttached || !IsInOne(near, particles.positions_m, i)) continue;
    const NearestPoint::Found found =
        nearest.NearestTo(PositionOf(particles.positions_m, i), kSamePlaceM);
    if (found.distance_m < kSamePlaceM) objects[i] = seen_objects[of_near[found.index]];
  }
  return objects;
}

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
      objects_(ObjectsOf(particles, seen, rule_.objects(), rule_.object_count())),
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
